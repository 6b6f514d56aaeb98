//! Fields by which somebody stops a controller from rolling a revision out: a Deployment that is paused, a StatefulSet with a
//! partition, a CronJob that is suspended.
//!
//! If the manifest of the revision says so, that is what was published. If it does not, the revision does not run, whatever the
//! controller reports about the pods of the former one: nothing that waits for it may go on.

use domain::Timestamp;
use domain::health::Health;
use domain::managed_fields::changing_manager;
use serde_json::Value;

use super::{assess, progressing};

/// The reason of an object that is held although its manifest does not say so.
const HELD: &str = "HeldOutsideManifest";

/// A field that holds objects of a kind.
struct HoldField {
    kind: &'static str,
    pointer: &'static str,
    is_holding: fn(&Value) -> bool,
    /// What the object is, to complete a sentence.
    effect: &'static str,
    /// Whether the revision runs nevertheless, such as when all pods were replaced before.
    is_rolled_out: fn(&Value) -> bool,
}

const HOLD_FIELDS: [HoldField; 6] = [
    HoldField {
        kind: "Deployment",
        pointer: "/spec/paused",
        is_holding: is_true,
        effect: "is paused",
        is_rolled_out: |live| has_updated(live, "/status/replicas", "/status/updatedReplicas"),
    },
    HoldField {
        kind: "StatefulSet",
        pointer: "/spec/updateStrategy/rollingUpdate/partition",
        is_holding: |value| value.as_i64().is_some_and(|partition| partition > 0),
        effect: "updates only the pods from its partition on",
        is_rolled_out: |live| has_updated(live, "/status/replicas", "/status/updatedReplicas"),
    },
    HoldField {
        kind: "StatefulSet",
        pointer: "/spec/updateStrategy/type",
        is_holding: is_on_delete,
        effect: "updates a pod only when it is deleted",
        is_rolled_out: |live| has_updated(live, "/status/replicas", "/status/updatedReplicas"),
    },
    HoldField {
        kind: "DaemonSet",
        pointer: "/spec/updateStrategy/type",
        is_holding: is_on_delete,
        effect: "updates a pod only when it is deleted",
        is_rolled_out: |live| {
            has_updated(live, "/status/desiredNumberScheduled", "/status/updatedNumberScheduled")
        },
    },
    HoldField {
        kind: "Job",
        pointer: "/spec/suspend",
        is_holding: is_true,
        effect: "is suspended",
        is_rolled_out: |_| false,
    },
    HoldField {
        kind: "CronJob",
        pointer: "/spec/suspend",
        is_holding: is_true,
        effect: "is suspended",
        is_rolled_out: |_| false,
    },
];

/// The health of an object that is held on the cluster and not by its manifest; `None` if nothing holds it, or if the revision
/// runs nevertheless.
pub(crate) fn assess_hold(desired: impl FnOnce() -> Value, live: &Value) -> Option<Health> {
    let kind = live["kind"].as_str().unwrap_or_default();
    let is_set =
        |field: &HoldField, object: &Value| object.pointer(field.pointer).is_some_and(field.is_holding);
    let is_held =
        |field: &&HoldField| field.kind == kind && is_set(field, live) && !(field.is_rolled_out)(live);
    let held: Vec<&HoldField> = HOLD_FIELDS.iter().filter(is_held).collect();
    if held.is_empty() {
        return None;
    }
    let desired = desired();
    let field = held.into_iter().find(|field| !is_set(field, &desired))?;
    let manager = changing_manager(live, &[field.pointer.to_owned()]);
    let name = field.pointer[1..].replace('/', ".");
    let message = format!(
        "{}, which its manifest does not say: {manager} set {name}; this revision is not rolled out",
        field.effect
    );
    Some(progressing(HELD, message))
}

/// The health of an object that is suspended by its `own` health. It is suspended only if its manifest says so, because then it is
/// what was published; otherwise it is not operational, or what it is without the field that holds it.
pub(crate) fn assess_suspension(desired: &Value, live: &Value, own: Health, now: Timestamp) -> Health {
    if let Some(held) = assess_hold(|| desired.clone(), live) {
        return held;
    }
    let kind = live["kind"].as_str().unwrap_or_default();
    let is_set =
        |field: &HoldField, object: &Value| object.pointer(field.pointer).is_some_and(field.is_holding);
    let fields: Vec<&HoldField> = HOLD_FIELDS.iter().filter(|field| field.kind == kind).collect();
    let is_published = match fields.as_slice() {
        [] => is_suspending(&desired["spec"]) || has_suspending_annotation(desired),
        fields => fields.iter().any(|field| is_set(field, desired)),
    };
    if is_published {
        return own;
    }
    // Every pod is of this revision: what they are decides, and not who paused their controller since.
    if let Some(field) = fields.into_iter().find(|field| is_set(field, live)) {
        return assess(&without_field(live, field.pointer), true, now);
    }
    progressing(&own.reason, format!("{}, which its manifest does not say", own.message))
}

fn without_field(live: &Value, pointer: &str) -> Value {
    let mut object = live.clone();
    if let Some((parent, field)) = pointer.rsplit_once('/')
        && let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        parent.remove(field);
    }
    object
}

/// Whether a specification of a kind without a rule says that the object is suspended, at any depth outside of lists.
fn is_suspending(spec: &Value) -> bool {
    let says_so = |name: &str, value: &Value| match value {
        Value::Bool(is_on) => *is_on && matches!(name, "paused" | "pause" | "suspend" | "suspended"),
        Value::String(text) => matches!(text.as_str(), "Paused" | "Suspended"),
        nested => is_suspending(nested),
    };
    spec.as_object().is_some_and(|fields| fields.iter().any(|(name, value)| says_so(name, value)))
}

/// Whether an annotation such as `cluster.x-k8s.io/paused` suspends the object.
fn has_suspending_annotation(desired: &Value) -> bool {
    let says_so = |(name, value): (&String, &Value)| {
        let name = name.rsplit('/').next().unwrap_or_default();
        (name.starts_with("pause") || name.starts_with("suspend")) && value != "false"
    };
    desired["metadata"]["annotations"].as_object().is_some_and(|all| all.iter().any(says_so))
}

fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true)
}

fn is_on_delete(value: &Value) -> bool {
    value == "OnDelete"
}

/// Whether all pods are of the current template, as the controller reports for the current generation. Unknown is no.
fn has_updated(live: &Value, all: &str, updated: &str) -> bool {
    let number = |pointer: &str| live.pointer(pointer).and_then(Value::as_i64);
    let is_observed = number("/status/observedGeneration") >= number("/metadata/generation");
    // A number that is absent is zero, as Kubernetes writes it.
    is_observed && number(all).unwrap_or_default() <= number(updated).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use domain::health::HealthStatus;
    use serde_json::json;

    use super::*;

    fn stateful_set(strategy: &Value, updated: i64) -> Value {
        json!({"kind": "StatefulSet", "metadata": {"generation": 2, "managedFields": [
            {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-01T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:updateStrategy": {"f:type": {}, "f:rollingUpdate": {"f:partition": {}}}}}}]},
            "spec": {"updateStrategy": strategy},
            "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": updated}})
    }

    #[test]
    fn an_object_that_is_held_by_hand_waits_with_the_manager_and_the_field() {
        let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 3}});
        let held = assess_hold(|| json!({}), &stateful_set(&partition, 0)).unwrap();
        assert!(!held.status.is_operational());
        assert!(
            held.message.contains("kubectl-edit set spec.updateStrategy.rollingUpdate.partition"),
            "{}",
            held.message
        );
        let on_delete = stateful_set(&json!({"type": "OnDelete"}), 0);
        assert_eq!(assess_hold(|| json!({}), &on_delete).unwrap().reason, HELD);
    }

    #[test]
    fn what_the_manifest_says_and_a_revision_that_runs_are_not_held() {
        let strategy = json!({"type": "OnDelete"});
        let desired = json!({"spec": {"updateStrategy": strategy}});
        assert_eq!(assess_hold(|| desired.clone(), &stateful_set(&strategy, 0)), None);
        assert_eq!(assess_hold(|| json!({}), &stateful_set(&strategy, 3)), None);
        let suspended = json!({"kind": "CronJob", "spec": {"suspend": true}});
        assert_eq!(assess_hold(|| suspended.clone(), &suspended), None);
        assert!(assess_hold(|| json!({"spec": {"suspend": false}}), &suspended).is_some());
    }

    #[test]
    fn an_unobserved_generation_is_not_rolled_out() {
        let mut live = stateful_set(&json!({"type": "OnDelete"}), 3);
        live["metadata"]["generation"] = json!(3);
        assert!(assess_hold(|| json!({}), &live).is_some());
    }

    #[test]
    fn a_phase_is_suspended_only_if_the_manifest_says_so() {
        let now = Timestamp::default();
        let live = json!({"apiVersion": "example.com/v1", "kind": "Widget", "status": {"phase": "Paused"}});
        let own = assess(&live, true, now);
        assert_eq!(own.status, HealthStatus::Suspended);
        let status = |desired: Value| assess_suspension(&desired, &live, own.clone(), now).status;
        for manifest in [
            json!({"spec": {"paused": true}}),
            json!({"spec": {"runPolicy": {"suspend": true}}}),
            json!({"spec": {"state": "Paused"}}),
            json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": "true"}}}),
        ] {
            assert_eq!(status(manifest.clone()), HealthStatus::Suspended, "{manifest}");
        }
        for manifest in [
            json!({}),
            json!({"spec": {"paused": false, "size": 3}}),
            json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": "false", "note": "true"}}}),
        ] {
            assert_eq!(status(manifest.clone()), HealthStatus::Progressing, "{manifest}");
        }
    }

    #[test]
    fn a_deployment_that_is_paused_after_its_rollout_is_what_its_pods_are() {
        let live = |available: i64| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2},
                "spec": {"replicas": 2, "paused": true},
                "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": available}})
        };
        let now = Timestamp::default();
        let assess_live = |desired: &Value, live: &Value| {
            assess_suspension(desired, live, assess(live, true, now), now).status
        };
        assert_eq!(assess_live(&json!({}), &live(2)), HealthStatus::Healthy);
        assert_eq!(assess_live(&json!({}), &live(1)), HealthStatus::Progressing);
        let paused = json!({"spec": {"paused": true}});
        assert_eq!(assess_live(&paused, &live(2)), HealthStatus::Suspended);
    }
}
