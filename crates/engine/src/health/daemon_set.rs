//! Daemon sets (`health.md` C.1).

use domain::health::{Health, HealthStatus};

use super::view::View;
use super::{healthy, progressing};

pub(super) fn assess(view: &View<'_>) -> Health {
    if view.int("/metadata/generation") > view.int("/status/observedGeneration") {
        return progressing("LatestGenerationNotObserved", "waiting for the update to be observed");
    }
    if !view.has("/status/desiredNumberScheduled") {
        return progressing("NotScheduledYet", "waiting to learn on how many nodes it runs");
    }
    let wanted = view.int("/status/desiredNumberScheduled");
    if view.text("/spec/updateStrategy/type") == "OnDelete" {
        return healthy(format!("{wanted} nodes; pods are updated when they are deleted"));
    }
    let updated = view.int("/status/updatedNumberScheduled");
    if updated < wanted {
        let message = format!("{updated} out of {wanted} new pods have been updated");
        return progressing("PodsUpdating", message);
    }
    let available = view.int("/status/numberAvailable");
    if available < wanted {
        let message = format!("{available} of {wanted} updated pods are available");
        return progressing("PodsUnavailable", message);
    }
    if wanted == 0 {
        return Health::new(HealthStatus::Healthy, "NoMatchingNodes", "no node matches; it runs nowhere");
    }
    healthy("")
}
