//! Which values of a chart are secrets, by the schema of the chart.

use domain::Digest;
use domain::secret_content::ChartMarks;
use domain::secret_values::SecretMarks;
use domain::workload::Source;
use source::archive::ChartArchive;

use crate::{Error, Hub};

impl Hub {
    /// The marks of the stored charts of these sources, without a request to their repositories.
    pub(crate) async fn load_chart_marks(&self, sources: &[Source]) -> Result<ChartMarks, Error> {
        let mut marks = ChartMarks::default();
        for source in sources {
            marks.add(source, self.load_secret_marks(source).await?);
        }
        Ok(marks)
    }

    async fn load_secret_marks(&self, source: &Source) -> Result<SecretMarks, Error> {
        let digest = match source {
            Source::Yaml { .. } => return Ok(SecretMarks::Names),
            Source::Chart(chart) => {
                let Some(reference) = chart.reference() else { return Ok(SecretMarks::Unknown) };
                let Some(stored) = self.find_stored_chart(reference, &chart.version).await? else {
                    return Ok(SecretMarks::Unknown);
                };
                stored.digest
            }
            Source::Git(remote) | Source::Oci(remote) => match &remote.pinned {
                Some(pinned) if remote.is_chart() => pinned.digest.clone(),
                Some(_) | None => return Ok(SecretMarks::Unknown),
            },
        };
        if !self.has_artifact(&digest).await? {
            return Ok(SecretMarks::Unknown);
        }
        let read = self.read_stored_archive(&digest, |archive| {
            ChartArchive::read(&archive).map(|chart| chart.values_schema().unwrap_or_default().to_owned())
        });
        Ok(read.await?.map_or(SecretMarks::Unknown, |schema| SecretMarks::from_schema(&schema)))
    }

    async fn has_artifact(&self, digest: &Digest) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(store::artifact::exists(&mut tx, digest).await?)
    }
}
