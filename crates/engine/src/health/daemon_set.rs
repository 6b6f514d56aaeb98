//! Daemon sets.

use domain::health::{Health, HealthStatus};

use super::object_view::ObjectView;
use super::{healthy, progressing};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.int("/metadata/generation") > view.int("/status/observedGeneration") {
        return progressing(super::NOT_OBSERVED, "waiting for the update to be observed");
    }
    if !view.has("/status/desiredNumberScheduled") {
        return progressing("NotScheduledYet", "waiting for the number of nodes it runs on");
    }
    let desired = view.int("/status/desiredNumberScheduled");
    if view.text("/spec/updateStrategy/type") == "OnDelete" {
        return healthy(format!("{desired} nodes; pods are updated when they are deleted"));
    }
    let updated = view.int("/status/updatedNumberScheduled");
    if updated < desired {
        let message = format!("{updated} out of {desired} new pods have been updated");
        return progressing("PodsUpdating", message);
    }
    let available = view.int("/status/numberAvailable");
    if available < desired {
        let message = format!("{available} of {desired} updated pods are available");
        return progressing("PodsUnavailable", message);
    }
    if desired == 0 {
        return Health::new(HealthStatus::Healthy, "NoMatchingNodes", "no node matches; it runs on no node");
    }
    healthy("")
}
