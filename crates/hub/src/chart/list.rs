//! The charts of the project.

use domain::chart::{ChartDetails, ChartSource, ChartVersion};
use domain::chart_repository::parse_version;
use source::archive::ChartArchive;

use super::upload::rejected_archive;
use crate::manifests::RenderWait;
use crate::{Error, Hub};

/// Most charts that a list returns.
const MAX_LISTED: u32 = 1_000;

impl Hub {
    /// The charts of the project, newest upload first; of one name if it is given.
    pub async fn list_charts(&self, name: Option<&str>) -> Result<Vec<ChartVersion>, Error> {
        let mut tx = self.read().await?;
        Ok(store::chart::list(&mut tx, self.project(), name, MAX_LISTED).await?)
    }

    /// One version of a chart with its default values and README; fetched from its repository if it is not stored yet.
    ///
    /// # Errors
    /// There is no such chart or version, or its repository can't be read now.
    pub async fn get_chart(
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
                readme: archive.readme().unwrap_or_default().to_owned(),
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
