//! Deployments.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing, suspended};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.is_set("/spec/paused") {
        return suspended("DeploymentPaused", "Deployment is paused");
    }
    if view.int("/metadata/generation") > view.int("/status/observedGeneration") {
        return progressing(super::NOT_OBSERVED, "waiting for the update to be observed");
    }
    if let Some(overdue) = view.condition("Progressing").filter(|c| c.reason == "ProgressDeadlineExceeded") {
        let message =
            if overdue.message.is_empty() { "exceeded its progress deadline" } else { overdue.message };
        return degraded("ProgressDeadlineExceeded", message);
    }
    if let Some(failure) = view.condition("ReplicaFailure").filter(|c| c.is_true()) {
        return degraded(failure.reason_or("ReplicaFailure"), failure.message);
    }
    assess_replicas(view)
}

fn assess_replicas(view: &ObjectView<'_>) -> Health {
    let desired = view.desired_replicas();
    let (all, updated) = (view.int("/status/replicas"), view.int("/status/updatedReplicas"));
    let available = view.int("/status/availableReplicas");
    if desired > updated {
        let message = format!("{updated} out of {desired} new replicas have been updated");
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
    if desired > 0
        && let Some(condition) = view.condition("Available").filter(|c| c.is_false())
    {
        return progressing(condition.reason_or("MinimumReplicasUnavailable"), condition.message);
    }
    healthy(if desired == 0 { "scaled to zero" } else { "" })
}
