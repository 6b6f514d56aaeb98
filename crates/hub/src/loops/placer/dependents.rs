//! Places the workloads again that depend on those of a pass.

use domain::WorkloadId;
use store::queue::PLACER;

use super::decide::PlacementOutcome;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Lets the workloads be placed again that depend on one of these. In a transaction of its own, because that of a claim has locked its row
/// of the queue. After a crash or an error before its commit, the full pass places them: what was placed is stored in any case.
pub(super) async fn mark_dependents(hub: &Hub, outcomes: &[&PlacementOutcome]) {
    if let Err(error) = try_mark_dependents(hub, outcomes).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "the workloads that depend on placed ones could not be marked; the full pass places them"
        );
    }
}

async fn try_mark_dependents(hub: &Hub, outcomes: &[&PlacementOutcome]) -> Result<(), Error> {
    let mut tx = hub.read().await?;
    let mut dependents: Vec<WorkloadId> = Vec::new();
    for outcome in outcomes {
        let found = store::dependency::list_dependents(&mut tx, outcome.workload.id).await?;
        dependents.extend(found.into_iter().map(|(id, _)| id));
    }
    drop(tx);
    if dependents.is_empty() {
        return Ok(());
    }
    let mut tx = hub.write().await?;
    PLACER.mark(&mut tx, &dependents, hub.clock().now()).await?;
    hub.commit(tx, CommitEffects::default()).await
}
