//! Fields that an override must not change: the identity of an object, and the selection of its pods (G510).

use serde_json::Value;

use crate::kubernetes::object::object_ref;
use crate::text::finding::Finding;

/// Kinds whose selector is immutable, and whose pods must have the labels that it requires.
const IMMUTABLE_SELECTOR_KINDS: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"];

/// Findings on the identity fields that an override changes, given the object before and after it.
pub(super) fn check_identity(name: &str, cluster: &str, before: &Value, after: &Value) -> Vec<Finding> {
    let (old, new) = (object_ref(before), object_ref(after));
    let fields = [
        ("/kind", &old.kind, &new.kind),
        ("/apiVersion", &old.group, &new.group),
        ("/metadata/name", &old.name, &new.name),
        ("/metadata/namespace", &old.namespace, &new.namespace),
    ];
    let mut findings: Vec<Finding> = fields
        .into_iter()
        .filter(|(_, old, new)| old != new)
        .map(|(path, from, to)| {
            let field = path.rsplit('/').next().unwrap_or(path);
            identity_finding(
                path,
                format!("Override {name:?} changes the {field} of {old} from {from:?} to {to:?}: that would be a different object."),
                "Leave kind, name and namespace as they are; add a second object to the source instead.",
            )
        })
        .collect();
    if IMMUTABLE_SELECTOR_KINDS.contains(&old.kind.as_str()) && findings.is_empty() {
        findings.extend(check_selector(name, before, after));
    }
    findings
        .into_iter()
        .map(|finding| finding.with_object(old.to_string()).with_clusters(vec![cluster.to_owned()]))
        .collect()
}

fn check_selector(name: &str, before: &Value, after: &Value) -> Option<Finding> {
    let object = object_ref(before);
    if before.pointer("/spec/selector") != after.pointer("/spec/selector") {
        return Some(identity_finding(
            "/spec/selector",
            format!(
                "Override {name:?} changes the selector of {object}, which is immutable once the object exists."
            ),
            "Leave the selector as it is; labels that should differ belong in the pod template.",
        ));
    }
    (has_selected_labels(before) && !has_selected_labels(after)).then(|| {
        identity_finding(
            "/spec/template/metadata/labels",
            format!(
                "Override {name:?} removes a label from the pods of {object} that its selector requires."
            ),
            "Keep the labels that spec.selector.matchLabels names.",
        )
    })
}

fn has_selected_labels(object: &Value) -> bool {
    let Some(required) = object.pointer("/spec/selector/matchLabels").and_then(Value::as_object) else {
        return true;
    };
    required
        .iter()
        .all(|(key, value)| object["spec"]["template"]["metadata"]["labels"].get(key) == Some(value))
}

fn identity_finding(path: &str, message: String, hint: &str) -> Finding {
    Finding::error("G510", message, hint).with_path(path)
}
