//! Stateful sets.
//!
//! Kubernetes has no failed state for stateful sets. One is degraded if the diagnosis of its pods is, or after ten
//! minutes without a change of its status. The last change is the controller's last status write in the managed fields.

use domain::Timestamp;
use domain::health::{Health, HealthStatus};

use super::object_view::ObjectView;
use super::{MINUTE_MILLIS, degraded, healthy, progressing};

/// Without progress for this time it is degraded, in milliseconds.
const NO_PROGRESS: i64 = 10 * MINUTE_MILLIS;

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    let health = assess_status(view);
    match (health.status, last_progress(view)) {
        (HealthStatus::Progressing, Some(last)) if view.now.millis_since(last) >= NO_PROGRESS => degraded(
            "NoProgress",
            format!("no progress for {}: {}", last.format_age(view.now), health.message),
        ),
        _ => health,
    }
}

fn assess_status(view: &ObjectView<'_>) -> Health {
    let observed = view.int("/status/observedGeneration");
    if observed == 0 || view.int("/metadata/generation") > observed {
        let message = "Waiting for statefulset spec update to be observed";
        return progressing(super::NOT_OBSERVED, message);
    }
    let (desired, ready) = (view.desired_replicas(), view.int("/status/readyReplicas"));
    if ready < desired {
        return progressing("PodsNotReady", format!("Waiting for {} pods to be ready", desired - ready));
    }
    if view.text("/spec/updateStrategy/type") == "OnDelete" {
        return healthy(format!("{ready} ready pods"));
    }
    let (all, updated) = (view.int("/status/replicas"), view.int("/status/updatedReplicas"));
    let partition = view.int("/spec/updateStrategy/rollingUpdate/partition");
    if partition > 0 {
        let share = (desired - partition).max(0);
        if updated < share {
            return progressing("PartitionedRollout", format!("partitioned roll out: {updated} of {share}"));
        }
        return healthy(format!("partitioned roll out complete: {updated} new pods"));
    }
    if all > desired {
        return progressing("OldReplicasPending", format!("{} pending termination", all - desired));
    }
    let revision = view.text("/status/updateRevision");
    if revision != view.text("/status/currentRevision") {
        return progressing("RollingUpdate", format!("{updated} pods at revision {revision}"));
    }
    healthy("")
}

/// Time of the controller's last status write.
fn last_progress(view: &ObjectView<'_>) -> Option<Timestamp> {
    view.list("/metadata/managedFields")
        .iter()
        .filter(|entry| entry["subresource"] == "status")
        .filter_map(|entry| entry["time"].as_str()?.parse().ok())
        .max()
}
