//! Volume claims and volumes.

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing};

/// Reason of a claim without a volume.
const CLAIM_PENDING: &str = "ClaimPending";
/// Set on a claim by the scheduler once a pod that uses it is placed.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The health of a pending claim of a class with `volumeBindingMode: WaitForFirstConsumer`, which `binds_late` looks up by the
/// name of the class: without a pod that uses it, waiting is its final state. `None` for every other claim; one of an unknown
/// class stays pending. Such a claim may wait for weeks, for the next run of a CronJob.
pub(crate) fn assess_unused_claim(
    claim: &Value,
    own: &Health,
    binds_late: impl Fn(&str) -> bool,
) -> Option<Health> {
    let is_used = claim["metadata"]["annotations"].get(SELECTED_NODE).is_some();
    if own.reason != CLAIM_PENDING || is_used || claim["kind"] != "PersistentVolumeClaim" {
        return None;
    }
    binds_late(claim["spec"]["storageClassName"].as_str()?).then(|| healthy("waiting for its first consumer"))
}

pub(super) fn assess_claim(view: &ObjectView<'_>) -> Health {
    match view.text("/status/phase") {
        "Bound" => healthy(""),
        "" | "Pending" => progressing(CLAIM_PENDING, "waiting for a volume"),
        "Lost" => degraded("ClaimLost", "its volume is lost"),
        other => unknown(other),
    }
}

pub(super) fn assess_volume(view: &ObjectView<'_>) -> Health {
    match view.text("/status/phase") {
        "Bound" | "Available" => healthy(""),
        "" | "Pending" => progressing("VolumePending", "is being provisioned"),
        "Released" => progressing("VolumeReleased", "its claim is gone; it is not reclaimed yet"),
        "Failed" => degraded("VolumeFailed", view.text("/status/message")),
        other => unknown(other),
    }
}

fn unknown(phase: &str) -> Health {
    Health::new(HealthStatus::Unknown, "UnknownPhase", format!("phase is {phase:?}"))
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn c1_a_claim_waits_for_its_first_consumer_only_if_its_class_binds_late() {
        let claim = |class: &str, annotations: Value, phase: &str| {
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"annotations": annotations},
                "spec": {"storageClassName": class}, "status": {"phase": phase}})
        };
        let assess = |claim: &Value| {
            let own = super::super::assess(claim, true, Timestamp::default());
            let unused = assess_unused_claim(claim, &own, |class| class == "late");
            unused.unwrap_or(own).status
        };
        assert_eq!(assess(&claim("late", json!({}), "Pending")), HealthStatus::Healthy);
        assert_eq!(assess(&claim("at-once", json!({}), "Pending")), HealthStatus::Progressing);
        let used = json!({SELECTED_NODE: "node-1"});
        assert_eq!(assess(&claim("late", used, "Pending")), HealthStatus::Progressing);
        assert_eq!(assess(&claim("late", json!({}), "Lost")), HealthStatus::Degraded);
    }
}
