//! Stateful sets (`health.md` C.1).
//!
//! Kubernetes never calls a stateful set failed. Its pods' diagnosis does; where they are silent, ten minutes without
//! any change of its status do. When that was is read from the managed fields: the controller's last status write.

use domain::Timestamp;
use domain::health::{Health, HealthStatus};

use super::view::View;
use super::{MINUTE, degraded, healthy, progressing};

/// Without progress for so long it is degraded.
const NO_PROGRESS: i64 = 10 * MINUTE;

pub(super) fn assess(view: &View<'_>) -> Health {
    let health = rules(view);
    match (health.status, last_progress(view)) {
        (HealthStatus::Progressing, Some(last)) if view.now.since(last) >= NO_PROGRESS => {
            degraded("NoProgress", format!("no progress for {}: {}", last.age(view.now), health.message))
        }
        _ => health,
    }
}

fn rules(view: &View<'_>) -> Health {
    let observed = view.int("/status/observedGeneration");
    if observed == 0 || view.int("/metadata/generation") > observed {
        let message = "Waiting for statefulset spec update to be observed";
        return progressing("LatestGenerationNotObserved", message);
    }
    let (wanted, ready) = (view.wanted_replicas(), view.int("/status/readyReplicas"));
    if ready < wanted {
        return progressing("PodsNotReady", format!("Waiting for {} pods to be ready", wanted - ready));
    }
    if view.text("/spec/updateStrategy/type") == "OnDelete" {
        return healthy(format!("{ready} ready pods"));
    }
    let (all, updated) = (view.int("/status/replicas"), view.int("/status/updatedReplicas"));
    let partition = view.int("/spec/updateStrategy/rollingUpdate/partition");
    if partition > 0 {
        let share = (wanted - partition).max(0);
        if updated < share {
            return progressing("PartitionedRollout", format!("partitioned roll out: {updated} of {share}"));
        }
        return healthy(format!("partitioned roll out complete: {updated} new pods"));
    }
    if all > wanted {
        return progressing("OldReplicasPending", format!("{} pending termination", all - wanted));
    }
    let revision = view.text("/status/updateRevision");
    if revision != view.text("/status/currentRevision") {
        return progressing("RollingUpdate", format!("{updated} pods at revision {revision}"));
    }
    healthy("")
}

/// When the controller last changed the status.
fn last_progress(view: &View<'_>) -> Option<Timestamp> {
    view.list("/metadata/managedFields")
        .iter()
        .filter(|entry| entry["subresource"] == "status")
        .filter_map(|entry| entry["time"].as_str()?.parse().ok())
        .max()
}
