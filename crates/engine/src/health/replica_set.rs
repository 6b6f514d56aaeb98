//! Replica sets and replication controllers (`health.md` C.1).

use domain::health::Health;

use super::view::View;
use super::{degraded, healthy, progressing};

pub(super) fn assess(view: &View<'_>) -> Health {
    if view.int("/metadata/generation") > view.int("/status/observedGeneration") {
        return progressing("LatestGenerationNotObserved", "waiting for the update to be observed");
    }
    if let Some(failure) = view.condition("ReplicaFailure").filter(|c| c.is_true()) {
        return degraded(failure.reason_or("ReplicaFailure"), failure.message);
    }
    let (wanted, available) = (view.wanted_replicas(), view.int("/status/availableReplicas"));
    if available < wanted {
        return progressing("ReplicasUnavailable", format!("{available} of {wanted} replicas are available"));
    }
    healthy("")
}
