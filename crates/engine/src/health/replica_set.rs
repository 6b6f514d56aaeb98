//! Replica sets and replication controllers.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.int("/metadata/generation") > view.int("/status/observedGeneration") {
        return progressing(super::NOT_OBSERVED, "waiting for the update to be observed");
    }
    if let Some(failure) = view.condition("ReplicaFailure").filter(|c| c.is_true()) {
        return degraded(failure.reason_or("ReplicaFailure"), failure.message);
    }
    let (desired, available) = (view.desired_replicas(), view.int("/status/availableReplicas"));
    if available < desired {
        return progressing(
            "ReplicasUnavailable",
            format!("{available} of {desired} replicas are available"),
        );
    }
    healthy("")
}
