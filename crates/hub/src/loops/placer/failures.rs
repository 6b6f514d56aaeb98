//! Failures of the placer: logged each time, shown on the workload, and recorded as an event when they change.

use std::collections::HashSet;

use domain::event::{EventKind, NewEvent};
use domain::{Severity, WorkloadId};
use store::queue::PLACER;

use super::PlacerClaim;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// The workloads that could not be placed, so that their next success is an event. Lost at a restart, which costs that event.
#[derive(Default)]
pub(super) struct PlacerFailures(HashSet<WorkloadId>);

impl PlacerFailures {
    /// Records the result of placing a workload. After a failure it is due again after a pause.
    ///
    /// # Errors
    /// The result is an outage of the database: nothing can be recorded, and the claim expires.
    pub async fn record(
        &mut self,
        hub: &Hub,
        claim: PlacerClaim,
        result: Result<(), Error>,
    ) -> Result<(), Error> {
        let id = claim.workload;
        let Err(error) = result else {
            if self.0.remove(&id)
                && let Err(error) = append_event(hub, id, Severity::Note, "is placed again.").await
            {
                log_error(id, &error, "the event could not be stored");
            }
            return Ok(());
        };
        let Some(reason) = error.workload_failure() else { return Err(error) };
        log_error(id, &error, "a workload could not be placed; it will be retried");
        let text =
            format!("can't be placed: {reason} The placer removes it from no cluster, and will retry.");
        match store_failure(hub, claim, &text).await {
            Ok(()) => {
                self.0.insert(id);
            }
            Err(error) => log_error(id, &error, "the failure could not be stored"),
        }
        Ok(())
    }

    /// Forgets a workload that was deleted.
    pub fn forget(&mut self, id: WorkloadId) {
        self.0.remove(&id);
    }
}

fn log_error(workload: WorkloadId, error: &Error, message: &str) {
    tracing::warn!(%workload, error = error as &dyn std::error::Error, "{message}");
}

/// Ends the claim with the failure. A retry that fails in the same way adds no event.
async fn store_failure(hub: &Hub, claim: PlacerClaim, text: &str) -> Result<(), Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    let is_new = PLACER.fail(&mut tx, (claim.workload, claim.epoch), &format!("It {text}"), now).await?;
    tx.commit().await?;
    if is_new {
        append_event(hub, claim.workload, Severity::Error, text).await?;
    }
    Ok(())
}

async fn append_event(hub: &Hub, id: WorkloadId, severity: Severity, text: &str) -> Result<(), Error> {
    let mut tx = hub.write().await?;
    let name = match store::workload::get_name(&mut tx, id).await {
        Ok(Some(name)) => name,
        Ok(None) => return Ok(()),
        // Its own row may be the one that can't be read.
        Err(_) => id.to_string(),
    };
    let event = NewEvent::new(EventKind::PlacementDecided, "flotilla", format!("{name} {text}"))
        .with_workload(id, &name)
        .with_severity(severity);
    hub.commit(tx, CommitEffects::with_event(event)).await
}
