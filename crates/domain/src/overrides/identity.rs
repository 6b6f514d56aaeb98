//! What an override must leave alone: which object it is, and which pods belong to it (G510).

use serde_json::Value;

use crate::bundle::object_ref;
use crate::finding::Finding;

/// Kinds whose selector can't be changed once they exist, and whose pods must carry the labels it asks for.
const SELECTS_FOR_EVER: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"];

/// What of the identity an override broke, given the object before and after it.
pub(super) fn broken(name: &str, cluster: &str, before: &Value, after: &Value) -> Vec<Finding> {
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
            let what = path.rsplit('/').next().unwrap_or(path);
            finding(
                path,
                format!("Override {name:?} changes the {what} of {old} from {from:?} to {to:?}: that would be another object."),
                "Leave kind, name and namespace as they are; add a second object to the source instead.",
            )
        })
        .collect();
    if SELECTS_FOR_EVER.contains(&old.kind.as_str()) && findings.is_empty() {
        findings.extend(selector(name, before, after));
    }
    findings.into_iter().map(|finding| finding.about(old.to_string()).on(vec![cluster.to_owned()])).collect()
}

fn selector(name: &str, before: &Value, after: &Value) -> Option<Finding> {
    let object = object_ref(before);
    if before.pointer("/spec/selector") != after.pointer("/spec/selector") {
        return Some(finding(
            "/spec/selector",
            format!(
                "Override {name:?} changes the selector of {object}: it can't be changed once the object exists."
            ),
            "Leave the selector as it is; labels that should differ belong in the pod template.",
        ));
    }
    (selects_its_pods(before) && !selects_its_pods(after)).then(|| {
        finding(
            "/spec/template/metadata/labels",
            format!("Override {name:?} takes a label from the pods of {object} that its selector asks for."),
            "Keep the labels that spec.selector.matchLabels names.",
        )
    })
}

fn selects_its_pods(object: &Value) -> bool {
    let Some(wanted) = object.pointer("/spec/selector/matchLabels").and_then(Value::as_object) else {
        return true;
    };
    wanted.iter().all(|(key, value)| object["spec"]["template"]["metadata"]["labels"].get(key) == Some(value))
}

fn finding(path: &str, message: String, hint: &str) -> Finding {
    Finding::error("G510", message, hint).at(path)
}
