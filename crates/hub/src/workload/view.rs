//! One workload for its page.

use domain::WorkloadId;
use domain::workload::{WorkloadFailure, WorkloadPhase, WorkloadView};
use store::Tx;
use store::queue::{PLACER, ROLLOUTS};

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
        let failures = load_failures(&mut tx, workload.id).await?;
        Ok(WorkloadView { workload, phase, counts, published_revision, rollout, failures })
    }
}

/// What the loops failed to do for a workload.
async fn load_failures(tx: &mut Tx, id: WorkloadId) -> Result<Vec<WorkloadFailure>, Error> {
    let mut failures = Vec::new();
    for queue in [PLACER, ROLLOUTS] {
        let found = queue.get_failure(tx, id).await?;
        failures.extend(found.map(|found| WorkloadFailure {
            message: found.message,
            attempts: found.attempts,
            retry_at: found.retry_at,
        }));
    }
    Ok(failures)
}
