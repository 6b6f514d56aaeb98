//! Sets the version of a chart that is named without one, so that what is saved always means the same chart.

use domain::chart::{ChartRef, LOCAL_REPOSITORY};
use domain::chart_repository::{is_stable, parse_version};
use domain::workload::Source;

use crate::{Error, Hub};

impl Hub {
    /// Sets an empty version to the newest one that is known and no pre-release. Without one it stays empty, which is a finding
    /// (G112) and no reason to lose the draft.
    pub(crate) async fn pin_chart_version(&self, source: &mut Source) -> Result<(), Error> {
        if let Source::Chart(chart) = source
            && chart.version.trim().is_empty()
            && let Some(reference) = chart.reference()
            && let Some(newest) = self.find_newest_version(reference).await?
        {
            chart.version = newest;
        }
        Ok(())
    }

    /// The newest version of a chart that is no pre-release; `None` if none is known.
    async fn find_newest_version(&self, reference: ChartRef<'_>) -> Result<Option<String>, Error> {
        if reference.repository != LOCAL_REPOSITORY
            && let Some(row) = self.find_repository(reference.repository).await?
        {
            if let Some(index) = self.load_index(&row).await? {
                let chart = index.iter().find(|chart| chart.name == reference.name);
                return Ok(chart.and_then(|chart| chart.newest()).map(|newest| newest.version.clone()));
            }
            match self.list_registry_versions(&row, reference.name).await {
                Ok(Some(versions)) => {
                    let newest = versions.iter().find(|found| is_stable(&found.version));
                    return Ok(newest.or_else(|| versions.first()).map(|newest| newest.version.clone()));
                }
                Ok(None) => {}
                // The newest stored version may not be the newest one.
                Err(why) => {
                    tracing::info!(%why, "the version of a chart is not set");
                    return Ok(None);
                }
            }
        }
        let mut tx = self.read().await?;
        let stored = store::chart::list_by_repository(&mut tx, self.project(), reference.repository).await?;
        let of_chart = stored.into_iter().filter(|chart| chart.name == reference.name);
        let newest = of_chart
            .filter(|chart| is_stable(&chart.version))
            .max_by(|a, b| parse_version(&a.version).cmp(&parse_version(&b.version)));
        Ok(newest.map(|chart| chart.version))
    }
}
