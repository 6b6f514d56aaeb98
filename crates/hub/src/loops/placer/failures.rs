//! Failures of the placer: logged each time, and recorded as an event when a stored row is the cause.

use std::collections::HashMap;

use domain::event::{EventKind, NewEvent};
use domain::{Severity, WorkloadId};

use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// The workloads that could not be placed because of a stored row, with the last message: a retry that fails in the
/// same way adds no event. Lost at a restart; the next failure is then recorded again.
#[derive(Default)]
pub(super) struct PlacerFailures(HashMap<WorkloadId, String>);

impl PlacerFailures {
    /// Records the result of placing a workload. After a failure its claim expires and it is due again.
    pub async fn record(&mut self, hub: &Hub, id: WorkloadId, result: Result<(), Error>) {
        let Err(error) = result else {
            if self.0.remove(&id).is_some() {
                append_event(hub, id, Severity::Note, "is placed again.").await;
            }
            return;
        };
        tracing::warn!(workload = %id, error = &error as &dyn std::error::Error, "a workload could not be placed; it will be retried");
        let Some(row) = error.unreadable_row() else { return };
        let text =
            format!("could not be placed: {row}. The placer removes it from no cluster, and will retry.");
        if self.0.get(&id) != Some(&text) {
            append_event(hub, id, Severity::Error, &text).await;
            self.0.insert(id, text);
        }
    }

    /// Forgets a workload that was deleted.
    pub fn forget(&mut self, id: WorkloadId) {
        self.0.remove(&id);
    }
}

async fn append_event(hub: &Hub, id: WorkloadId, severity: Severity, text: &str) {
    if let Err(error) = try_append_event(hub, id, severity, text).await {
        tracing::warn!(workload = %id, error = &error as &dyn std::error::Error, "the event could not be stored");
    }
}

async fn try_append_event(hub: &Hub, id: WorkloadId, severity: Severity, text: &str) -> Result<(), Error> {
    let mut tx = hub.write().await?;
    let name = match store::workload::get_by_id(&mut tx, id).await {
        Ok(Some(workload)) => workload.name,
        Ok(None) => return Ok(()),
        // Its own row may be the one that can't be read.
        Err(_) => id.to_string(),
    };
    let event = NewEvent::new(EventKind::PlacementDecided, "flotilla", format!("{name} {text}"))
        .with_workload(id, &name)
        .with_severity(severity);
    hub.commit(tx, CommitEffects::with_event(event)).await
}
