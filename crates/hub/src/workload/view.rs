//! One workload for its page.

use domain::placement::PendingRemoval;
use domain::workload::{WorkloadPhase, WorkloadView};
use store::Tx;

use crate::{Error, Hub};

impl Hub {
    /// One workload with its counts and published revision.
    pub async fn get_workload(&self, name: &str) -> Result<WorkloadView, Error> {
        let mut tx = self.read().await?;
        self.load_workload_view(&mut tx, name).await
    }

    /// One workload, and the clusters that no longer match and from which it will be removed (E-6).
    pub async fn get_workload_with_removals(
        &self,
        name: &str,
    ) -> Result<(WorkloadView, Vec<PendingRemoval>), Error> {
        let mut tx = self.read().await?;
        let view = self.load_workload_view(&mut tx, name).await?;
        let removals = store::pending_removal::list(&mut tx, view.workload.id).await?;
        Ok((view, removals))
    }

    pub(crate) async fn load_workload_view(&self, tx: &mut Tx, name: &str) -> Result<WorkloadView, Error> {
        let workload = self.load_workload(tx, name).await?;
        let counts = store::release::counts_by_workload(tx, &[workload.id]).await?;
        let counts = counts.into_iter().next().map(|(_, counts)| counts).unwrap_or_default();
        let published_revision = match workload.published {
            Some(number) => Some(store::revision::get_existing(tx, workload.id, number).await?),
            None => None,
        };
        let rollout = match workload.published {
            Some(number) => self.load_rollout(tx, workload.id, number).await?,
            None => None,
        };
        let phase = WorkloadPhase::from_releases(workload.intent, &counts);
        Ok(WorkloadView { workload, phase, counts, published_revision, rollout })
    }
}
