//! What blocks the deletion of an object: its finalizers, and for a namespace those of its contents.

use serde_json::Value;

/// Conditions of a terminating namespace that say what remains in it, the causes first.
const NAMESPACE_CONDITIONS: [&str; 5] = [
    "NamespaceFinalizersRemaining",
    "NamespaceContentRemaining",
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
];

/// Sentences with what blocks the deletion; empty if nothing but `foregroundDeletion` does.
pub(crate) fn describe_finalizers(live: &Value) -> String {
    let names: Vec<&str> = live
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| *name != "foregroundDeletion")
        .collect();
    let own = match names.as_slice() {
        [] => None,
        [one] => Some(format!("finalizer {one} blocks it.")),
        many => Some(format!("finalizers {} block it.", many.join(", "))),
    };
    let sentences: Vec<String> = own.into_iter().chain(namespace_blockers(live)).collect();
    sentences.join(" ")
}

/// What the conditions of a namespace say, if its deletion does not proceed: contents without a finalizer are being deleted.
fn namespace_blockers(live: &Value) -> Vec<String> {
    if live["kind"] != "Namespace" {
        return Vec::new();
    }
    let conditions =
        live.pointer("/status/conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let message = |kind: &str| {
        let condition = conditions.iter().find(|c| c["type"] == kind && c["status"] == "True")?;
        let text = condition["message"].as_str().unwrap_or_default().trim();
        Some(format!("{}.", text.trim_end_matches('.')))
    };
    let is_blocked = NAMESPACE_CONDITIONS
        .iter()
        .any(|kind| *kind != "NamespaceContentRemaining" && message(kind).is_some());
    if !is_blocked {
        return Vec::new();
    }
    NAMESPACE_CONDITIONS.iter().filter_map(|kind| message(kind)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn own_finalizers_are_named_except_that_of_the_foreground_deletion() {
        let with =
            |finalizers: &[&str]| describe_finalizers(&json!({"metadata": {"finalizers": finalizers}}));
        assert_eq!(with(&[]), "");
        assert_eq!(with(&["foregroundDeletion"]), "");
        assert_eq!(with(&["a.example.com/hold"]), "finalizer a.example.com/hold blocks it.");
        assert_eq!(with(&["a", "b"]), "finalizers a, b block it.");
    }

    #[test]
    fn a_namespace_is_blocked_by_finalizers_of_its_contents_and_not_by_contents_that_are_being_deleted() {
        let condition =
            |kind: &str, message: &str| json!({"type": kind, "status": "True", "message": message});
        let remaining = condition(
            "NamespaceContentRemaining",
            "Some resources are remaining: configmaps. has 1 resource instances",
        );
        let finalizers = condition(
            "NamespaceFinalizersRemaining",
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        );
        let namespace =
            |conditions: Vec<Value>| json!({"kind": "Namespace", "status": {"conditions": conditions}});
        assert_eq!(describe_finalizers(&namespace(vec![remaining.clone()])), "");
        let text = describe_finalizers(&namespace(vec![remaining, finalizers]));
        assert!(
            text.contains(
                "example.com/hold in 1 resource instances. Some resources are remaining: configmaps"
            ),
            "{text}"
        );
    }
}
