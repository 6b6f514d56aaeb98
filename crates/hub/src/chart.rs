//! Charts of the project: upload, lists, and the renderings made by Helm.

use domain::Finding;
use domain::chart::{ChartSource, ChartVersion};
use domain::nearest::find_nearest;
use store::Tx;

use crate::{Error, Hub};

mod list;
mod rendering;
mod upload;

pub(crate) use rendering::{ChartRenderer, RenderingFailure, SharedRendering};

impl Hub {
    /// The chart that a source names, or the findings about why there is none.
    pub(crate) async fn find_source_chart(
        &self,
        source: &ChartSource,
    ) -> Result<Result<ChartVersion, Vec<Finding>>, Error> {
        let Some(reference) = source.reference() else {
            // The static checks report it.
            return Ok(Err(Vec::new()));
        };
        let mut tx = self.read().await?;
        let found =
            store::chart::get(&mut tx, self.project(), reference.repository, reference.name, &source.version)
                .await?;
        match found {
            Some(chart) => Ok(Ok(chart)),
            None => Ok(Err(vec![self.missing_chart_finding(&mut tx, source).await?])),
        }
    }

    /// G112: the project does not have this version of this chart.
    async fn missing_chart_finding(&self, tx: &mut Tx, source: &ChartSource) -> Result<Finding, Error> {
        let charts = store::chart::list(tx, self.project(), None, 1_000).await?;
        let versions: Vec<&str> = charts
            .iter()
            .filter(|chart| chart.reference() == source.chart)
            .map(|chart| chart.version.as_str())
            .collect();
        let finding = if versions.is_empty() {
            let references: Vec<String> = charts.iter().map(ChartVersion::reference).collect();
            let hint = match find_nearest(&source.chart, references.iter().map(String::as_str)) {
                Some(near) => format!("Did you mean {near:?}?"),
                None => "Upload it with `flotilla chart push FILE.tgz`.".to_owned(),
            };
            Finding::error("G112", format!("There is no chart {:?} in this project.", source.chart), hint)
                .with_path("/source/chart")
        } else {
            let message =
                format!("Chart {:?} has no version {:?} in this project.", source.chart, source.version);
            let shown: Vec<&str> = versions.iter().copied().take(5).collect();
            Finding::error("G112", message, format!("It has {}.", shown.join(", ")))
                .with_path("/source/version")
        };
        Ok(finding)
    }
}
