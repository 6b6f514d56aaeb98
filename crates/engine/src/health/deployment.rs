//! Deployments (`health.md` C.1).

use domain::health::Health;

use super::view::View;
use super::{degraded, healthy, progressing, suspended};

pub(super) fn assess(view: &View<'_>) -> Health {
    if view.is_set("/spec/paused") {
        return suspended("DeploymentPaused", "Deployment is paused");
    }
    if view.int("/metadata/generation") > view.int("/status/observedGeneration") {
        return progressing("LatestGenerationNotObserved", "waiting for the update to be observed");
    }
    if let Some(late) = view.condition("Progressing").filter(|c| c.reason == "ProgressDeadlineExceeded") {
        let message = if late.message.is_empty() { "exceeded its progress deadline" } else { late.message };
        return degraded("ProgressDeadlineExceeded", message);
    }
    if let Some(failure) = view.condition("ReplicaFailure").filter(|c| c.is_true()) {
        return degraded(failure.reason_or("ReplicaFailure"), failure.message);
    }
    replicas(view)
}

fn replicas(view: &View<'_>) -> Health {
    let wanted = view.wanted_replicas();
    let (all, updated) = (view.int("/status/replicas"), view.int("/status/updatedReplicas"));
    let available = view.int("/status/availableReplicas");
    if wanted > updated {
        let message = format!("{updated} out of {wanted} new replicas have been updated");
        return progressing("ReplicasUpdating", message);
    }
    if all > updated {
        return progressing(
            "OldReplicasPending",
            format!("{} old replicas are pending termination", all - updated),
        );
    }
    if available < updated {
        let message = format!("{available} of {updated} updated replicas are available");
        return progressing("ReplicasUnavailable", message);
    }
    if wanted > 0
        && let Some(condition) = view.condition("Available").filter(|c| c.is_false())
    {
        return progressing(condition.reason_or("MinimumReplicasUnavailable"), condition.message);
    }
    healthy(if wanted == 0 { "scaled to zero" } else { "" })
}
