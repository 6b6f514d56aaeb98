//! One workload for its page.

use domain::workload::{WorkloadPhase, WorkloadView};

use crate::{Error, Hub};

impl Hub {
    /// One workload with its counts and published revision.
    pub async fn get_workload(&self, name: &str) -> Result<WorkloadView, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let counts = store::release::counts_by_workload(&mut tx, &[workload.id]).await?;
        let counts = counts.into_iter().next().map(|(_, counts)| counts).unwrap_or_default();
        let published_revision = match workload.published {
            Some(number) => Some(store::revision::get_existing(&mut tx, workload.id, number).await?),
            None => None,
        };
        let rollout = match workload.published {
            Some(number) => self.load_rollout(&mut tx, workload.id, number).await?,
            None => None,
        };
        let phase = WorkloadPhase::from_releases(workload.intent, &counts);
        Ok(WorkloadView { workload, phase, counts, published_revision, rollout })
    }
}
