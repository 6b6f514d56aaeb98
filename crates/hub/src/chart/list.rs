//! The charts of the project.

use domain::Finding;
use domain::chart::{ChartDetails, ChartSource, ChartVersion};
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

    /// One version of a chart with its default values, its schema and its README, for a response; fetched from its repository if it is not
    /// stored yet.
    ///
    /// # Errors
    /// There is no such chart or version, its repository can't be read now, or its values and its schema are too long for a response.
    pub async fn get_chart(
        &self,
        repository: &str,
        name: &str,
        version: &str,
    ) -> Result<ChartDetails, Error> {
        self.load_chart_details(repository, name, version).await.and_then(refuse_long_texts)
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
            ChartArchive::read(&archive).map(|archive| ChartDetails {
                default_values: archive.default_values().to_owned(),
                readme: cut_readme(archive.readme().unwrap_or_default()),
                values_schema: archive.values_schema().unwrap_or_default().to_owned(),
                dependencies: archive.metadata().dependencies.clone(),
                links: archive.metadata().links.clone(),
                deprecated: archive.metadata().is_deprecated,
                chart,
            })
        });
        read.await?.map_err(|rejected| rejected_archive(&rejected))
    }

    async fn has_repository(&self, name: &str) -> Result<bool, Error> {
        Ok(self.find_repository(name).await?.is_some())
    }
}

/// The beginning of a README: what is shown, and one character more, so that it is known that it was longer.
fn cut_readme(readme: &str) -> String {
    readme[..readme.floor_char_boundary(MAX_README_BYTES + MAX_CHAR_BYTES)].to_owned()
}

/// The details, if their texts are short enough for a response.
pub(super) fn refuse_long_texts(details: ChartDetails) -> Result<ChartDetails, Error> {
    let bytes = measure_json(&details.default_values) + measure_json(&details.values_schema);
    if bytes > MAX_RESPONSE_BYTES {
        return Err(Error::Invalid(vec![too_long_texts(&details.chart, bytes)]));
    }
    Ok(details)
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

/// G111: the texts of a chart are too long for a response.
fn too_long_texts(chart: &ChartVersion, bytes: usize) -> Finding {
    let message = format!(
        "values.yaml and values.schema.json of chart {} {} have {bytes} bytes in a response, and at most {MAX_RESPONSE_BYTES} are sent.",
        chart.name, chart.version
    );
    Finding::error("G111", message, "Read them in the packed chart, or use a chart with shorter files.")
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
        assert_eq!(cut_readme("# Web"), "# Web");
        let cut = cut_readme(&"ü".repeat(MAX_README_BYTES));
        assert!(cut.len() > MAX_README_BYTES && cut.len() <= MAX_README_BYTES + MAX_CHAR_BYTES);
    }
}
