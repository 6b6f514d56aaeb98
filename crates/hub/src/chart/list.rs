//! The charts of the project.

use domain::chart::{ChartDetails, ChartSource, ChartVersion, ShortenedFile};
use domain::chart_repository::parse_version;
use source::archive::ChartArchive;
use source::readme::MAX_README_BYTES;

use super::upload::rejected_archive;
use crate::manifests::RenderWait;
use crate::{Error, Hub};

/// Most charts that a list returns.
const MAX_LISTED: u32 = 1_000;
/// Most bytes of the default values and the schema of a chart in a response.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
/// Longest character, in bytes.
const MAX_CHAR_BYTES: usize = 4;

impl Hub {
    /// The charts of the project, newest upload first; of one name if it is given.
    pub async fn list_charts(&self, name: Option<&str>) -> Result<Vec<ChartVersion>, Error> {
        let mut tx = self.read().await?;
        Ok(store::chart::list(&mut tx, self.project(), name, MAX_LISTED).await?)
    }

    /// One version of a chart with its default values, its schema and its README, for a response: without the texts that are too long for
    /// it, which are named. Fetched from its repository if it is not stored yet.
    ///
    /// # Errors
    /// There is no such chart or version, or its repository can't be read now.
    pub async fn get_chart(
        &self,
        repository: &str,
        name: &str,
        version: &str,
    ) -> Result<ChartDetails, Error> {
        self.load_chart_details(repository, name, version).await.map(leave_out_long_texts)
    }

    /// The same for another use than a response.
    ///
    /// # Errors
    /// There is no such chart or version, or its repository can't be read now.
    pub(crate) async fn load_chart_details(
        &self,
        repository: &str,
        name: &str,
        version: &str,
    ) -> Result<ChartDetails, Error> {
        let not_found = || Error::not_found("chart", format!("{repository}/{name} {version}"));
        let source = ChartSource {
            chart: format!("{repository}/{name}"),
            version: version.to_owned(),
            ..ChartSource::default()
        };
        if source.reference().is_none() || parse_version(version).is_none() {
            return Err(not_found());
        }
        let chart = match self.load_source_chart(&source, RenderWait::Request).await? {
            Ok(chart) => chart,
            Err(failure) if self.has_repository(repository).await? => {
                return Err(Error::Invalid(failure.findings));
            }
            Err(_) => return Err(not_found()),
        };
        let digest = chart.digest.clone();
        let read = self.read_stored_archive(&digest, move |archive| {
            ChartArchive::read(&archive).map(|archive| {
                let (readme, shortened) = cut_readme(archive.readme().unwrap_or_default());
                ChartDetails {
                    default_values: archive.default_values().to_owned(),
                    readme,
                    values_schema: archive.values_schema().unwrap_or_default().to_owned(),
                    dependencies: archive.metadata().dependencies.clone(),
                    links: archive.metadata().links.clone(),
                    deprecated: archive.metadata().is_deprecated,
                    shortened: shortened.into_iter().collect(),
                    chart,
                }
            })
        });
        read.await?.map_err(|rejected| rejected_archive(&rejected))
    }

    async fn has_repository(&self, name: &str) -> Result<bool, Error> {
        Ok(self.find_repository(name).await?.is_some())
    }
}

/// The beginning of a README: what is shown, and one character more, so that it is known that it was longer; and that it was, if it was.
fn cut_readme(readme: &str) -> (String, Option<ShortenedFile>) {
    let cut = &readme[..readme.floor_char_boundary(MAX_README_BYTES + MAX_CHAR_BYTES)];
    let reason = || {
        format!(
            "README.md has {} bytes, and the first {} of them are here. Read the rest in the packed chart.",
            readme.len(),
            cut.len()
        )
    };
    let shortened = (cut.len() < readme.len()).then(|| shortened("README.md", reason()));
    (cut.to_owned(), shortened)
}

/// The details without the texts that are too long for a response, which are named: first the default values have what fits, then the schema.
pub(super) fn leave_out_long_texts(mut details: ChartDetails) -> ChartDetails {
    let mut left = MAX_RESPONSE_BYTES;
    let files =
        [("values.yaml", &mut details.default_values), ("values.schema.json", &mut details.values_schema)];
    for (path, text) in files {
        let bytes = measure_json(text);
        if let Some(rest) = left.checked_sub(bytes) {
            left = rest;
            continue;
        }
        *text = String::new();
        let reason = format!(
            "{path} is not in the response: it has {bytes} bytes there, and values.yaml and values.schema.json have at most {MAX_RESPONSE_BYTES} together. Read it in the packed chart."
        );
        details.shortened.push(shortened(path, reason));
    }
    details
}

fn shortened(path: &str, reason: String) -> ShortenedFile {
    ShortenedFile { path: path.to_owned(), reason }
}

/// The bytes of a text in JSON: a control character has six of them.
fn measure_json(text: &str) -> usize {
    let measure = |byte: u8| -> usize {
        match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            ..=0x1f => 6,
            _ => 1,
        }
    };
    text.bytes().map(measure).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_a_text_is_measured_as_it_is_in_json_and_of_a_readme_the_beginning_is_read() {
        for text in ["", "a: \"b\"\n\t\\", "\u{1}\u{8}\u{1f}ü"] {
            // It has quotes around it, and short escapes of two further characters.
            let written = serde_json::to_string(text).unwrap().len() - 2;
            assert!((written..=written + 4).contains(&measure_json(text)), "{text:?}");
        }
        assert_eq!(cut_readme("# Web"), ("# Web".to_owned(), None));
        let (cut, shortened) = cut_readme(&"ü".repeat(MAX_README_BYTES));
        assert!(cut.len() > MAX_README_BYTES && cut.len() <= MAX_README_BYTES + MAX_CHAR_BYTES);
        let reason = shortened.unwrap().reason;
        assert!(reason.contains("has 524288 bytes, and the first 262148 of them"), "{reason}");
    }
}
