//! Fields by which somebody stops a controller from rolling a revision out: a Deployment that is paused, a StatefulSet with a
//! partition, a CronJob that is suspended, a custom object with a field or an annotation of such a name.
//!
//! If the manifest of the revision says so, that is what was published. If it does not, the revision does not run, whatever the
//! controller reports about the pods of the former one: nothing that waits for it may go on.

use domain::Timestamp;
use domain::field_path::escape_pointer_token;
use domain::health::Health;
use domain::managed_fields::{changing_manager, find_writer, is_owned_by_flotilla};
use domain::object::{ObjectRef, is_built_in_group};
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
    if is_custom(live) {
        let pointer = find_suspension(live, &|pointer| !is_unwritten(live, pointer))?;
        let is_published = find_suspension(&desired(), &|_| true).is_some();
        return (!is_published).then(|| held_by(live, &pointer, "is suspended"));
    }
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
    Some(held_by(live, field.pointer, field.effect))
}

/// The health of an object that the field at `pointer` holds.
fn held_by(live: &Value, pointer: &str, effect: &str) -> Health {
    let manager = changing_manager(live, &[pointer.to_owned()]);
    let name = pointer[1..].replace('/', ".").replace("~1", "/");
    let message = format!(
        "{effect}, which its manifest does not say: {manager} set {name}; this revision is not rolled out"
    );
    progressing(HELD, message)
}

/// Whether it is of a kind that a definition may have, about whose fields only their names are known.
fn is_custom(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    !is_built_in_group(ObjectRef::split_api_version(version).0)
}

/// Whether nobody is recorded as the writer of a field: its value is the default of the definition, which stops no revision.
fn is_unwritten(live: &Value, pointer: &str) -> bool {
    let entries = live["metadata"]["managedFields"].as_array();
    entries.is_some_and(|entries| !entries.is_empty())
        && !is_owned_by_flotilla(live, pointer)
        && find_writer(live, &[pointer.to_owned()]).operation.is_empty()
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
    let is_known = |field: &&HoldField| field.kind == kind && !is_custom(live);
    let fields: Vec<&HoldField> = HOLD_FIELDS.iter().filter(is_known).collect();
    let is_published = match fields.as_slice() {
        [] => find_suspension(desired, &|_| true).is_some(),
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

/// The pointer of the field that counts, or of the annotation, by which an object of a kind without a rule is suspended.
fn find_suspension(object: &Value, counts: &dyn Fn(&str) -> bool) -> Option<String> {
    find_suspending_field(&object["spec"], "/spec", counts).or_else(|| find_suspending_annotation(object))
}

/// The field of a specification that says that the object is suspended, at any depth outside of lists.
fn find_suspending_field(spec: &Value, pointer: &str, counts: &dyn Fn(&str) -> bool) -> Option<String> {
    spec.as_object()?.iter().find_map(|(name, value)| {
        let pointer = format!("{pointer}/{}", escape_pointer_token(name));
        let says_so = match value {
            Value::Bool(is_on) => *is_on && matches!(&**name, "paused" | "pause" | "suspend" | "suspended"),
            Value::String(text) => matches!(text.as_str(), "Paused" | "Suspended"),
            nested => return find_suspending_field(nested, &pointer, counts),
        };
        (says_so && counts(&pointer)).then_some(pointer)
    })
}

/// An annotation such as `cluster.x-k8s.io/paused`.
fn find_suspending_annotation(object: &Value) -> Option<String> {
    let says_so = |(name, value): &(&String, &Value)| {
        let name = name.rsplit('/').next().unwrap_or_default();
        (name.starts_with("pause") || name.starts_with("suspend")) && *value != "false"
    };
    let (name, _) = object["metadata"]["annotations"].as_object()?.iter().find(says_so)?;
    Some(format!("/metadata/annotations/{}", escape_pointer_token(name)))
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
    fn a_custom_object_that_is_suspended_by_hand_is_held_whatever_its_conditions_say() {
        let live = |metadata: &Value, spec: &Value| {
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec,
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        };
        let none = json!({});
        let annotated = json!({"annotations": {"cluster.x-k8s.io/paused": "true"}});
        let managed = json!({"managedFields": [{"manager": "kubectl-edit", "operation": "Update",
            "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:run": {"f:suspend": {}}}}}]});
        let suspended = json!({"run": {"suspend": true}});
        for (metadata, spec, field) in [
            (&managed, &suspended, "kubectl-edit set spec.run.suspend"),
            (&annotated, &none, "set metadata.annotations.cluster.x-k8s.io/paused"),
        ] {
            let object = live(metadata, spec);
            let held = assess_hold(|| json!({"spec": {"size": 3}}), &object).unwrap();
            assert_eq!(held.reason, HELD);
            assert!(held.message.contains(field), "{}", held.message);
            assert_eq!(assess_hold(|| object.clone(), &object), None, "its manifest says so");
        }
        for spec in [json!({"run": {"suspend": false}}), json!({"steps": [{"pause": true}]}), none.clone()] {
            assert_eq!(assess_hold(|| none.clone(), &live(&none, &spec)), None, "{spec}");
        }
        // A default of the definition: nobody has written it.
        let mut defaulted = live(&managed, &json!({"paused": true}));
        assert_eq!(assess_hold(|| none.clone(), &defaulted), None);
        defaulted["spec"]["run"] = json!({"suspend": true});
        assert!(assess_hold(|| none.clone(), &defaulted).is_some());
        // A field of a kind of Kubernetes is known, or holds nothing.
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"suspend": true}});
        assert_eq!(assess_hold(|| none.clone(), &service), None);
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": annotated});
        assert_eq!(assess_hold(|| none.clone(), &ingress), None);
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
