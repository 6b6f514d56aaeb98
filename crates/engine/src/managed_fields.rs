//! Reads `new_metadata_only.managedFields`: which manager owns a field, and so which one changed it.
//!
//! A field that differs but is still owned by Flotilla was not changed by another party: the server normalizes it
//! (`1000m` and `1`), or an admission webhook sets it on every apply. Only a field owned by another manager, or by
//! none, has drifted.

use domain::field_path::{self, FieldPath, PathSegment};
use serde_json::Value;

use crate::api::FIELD_MANAGER;

/// The manager of a change without a recorded manager.
pub(crate) const UNKNOWN_MANAGER: &str = "unknown";

/// Whether a `flotilla` entry owns the field at `path`.
pub(crate) fn is_owned_by_flotilla(live: &Value, path: &str) -> bool {
    let steps = parse_segments(path);
    manager_entries(live)
        .iter()
        .filter(|entry| entry["manager"] == FIELD_MANAGER)
        .any(|entry| owns_path(&entry["fieldsV1"], &steps))
}

/// The manager that changed these fields: the newest one that owns any of them, else the newest other manager, which
/// must have removed them.
pub(crate) fn changing_manager(live: &Value, paths: &[String]) -> String {
    let steps: Vec<Vec<PathSegment>> = paths.iter().map(|path| parse_segments(path)).collect();
    let others = || {
        manager_entries(live)
            .iter()
            .filter(|entry| entry["manager"] != FIELD_MANAGER && entry["subresource"] != "status")
    };
    let newest = |candidates: &mut dyn Iterator<Item = &Value>| {
        let newest = candidates.max_by(|a, b| a["time"].as_str().cmp(&b["time"].as_str()));
        newest.and_then(|entry| entry["manager"].as_str().map(str::to_owned))
    };
    newest(&mut others().filter(|entry| steps.iter().any(|steps| owns_path(&entry["fieldsV1"], steps))))
        .or_else(|| newest(&mut others()))
        .unwrap_or_else(|| UNKNOWN_MANAGER.to_owned())
}

/// The entries without those of `manager` for the object itself; `None` if it has none.
pub(crate) fn without_manager(live: &Value, manager: &str) -> Option<Vec<Value>> {
    let entries = manager_entries(live);
    let is_other = |entry: &&Value| entry["manager"] != manager || entry["subresource"].is_string();
    let others: Vec<Value> = entries.iter().filter(is_other).cloned().collect();
    (others.len() < entries.len()).then_some(others)
}

fn manager_entries(live: &Value) -> &[Value] {
    live.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a `fieldsV1` set contains the path or an ancestor that is owned as a whole.
fn owns_path(fields: &Value, steps: &[PathSegment]) -> bool {
    let mut node = fields;
    for step in steps {
        let Some(map) = node.as_object() else { return false };
        if map.is_empty() && !std::ptr::eq(node, fields) {
            return true;
        }
        let next = match step {
            PathSegment::Key(name) => map.get(&format!("f:{name}")).or_else(|| map.get(&format!("i:{name}"))),
            PathSegment::Item(pairs) => {
                map.iter().find(|(key, _)| is_item(key, pairs)).map(|(_, value)| value)
            }
        };
        match next {
            Some(next) => node = next,
            None => return false,
        }
    }
    true
}

/// Whether a key such as `k:{"name":"web"}` matches the item with these keys; the server may have defaulted more keys.
fn is_item(key: &str, pairs: &[(String, String)]) -> bool {
    let Some(Ok(item)) = key.strip_prefix("k:").map(serde_json::from_str::<Value>) else { return false };
    pairs
        .iter()
        .all(|(name, expected)| field_path::scalar_text(&item[name]).is_some_and(|text| text == *expected))
}

fn parse_segments(path: &str) -> Vec<PathSegment> {
    // Only paths produced by the diff are passed in, so parsing succeeds; an invalid path matches no field.
    path.parse::<FieldPath>().map(|path| path.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live() -> Value {
        json!({"metadata": {"managedFields": [
            {"manager": "flotilla", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": {
                "f:metadata": {"f:labels": {"f:a/b": {}}},
                "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {
                    "k:{\"name\":\"web\"}": {".": {}, "f:image": {}}}}}}}},
            {"manager": "old-manager", "operation": "Update", "time": "2026-01-02T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:paused": {}}}},
            {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-03T00:00:00Z",
             "fieldsV1": {"f:data": {}}},
            {"manager": "controller", "operation": "Update", "subresource": "status",
             "time": "2026-01-04T00:00:00Z", "fieldsV1": {"f:status": {}}},
        ]}})
    }

    #[test]
    fn p25_a_field_is_owned_while_a_flotilla_entry_contains_it() {
        assert!(is_owned_by_flotilla(&live(), "/spec/replicas"));
        assert!(is_owned_by_flotilla(&live(), "/spec/template/spec/containers[name=web]/image"));
        assert!(is_owned_by_flotilla(&live(), "/metadata/labels/a~1b"));
        assert!(!is_owned_by_flotilla(&live(), "/spec/template/spec/containers[name=other]/image"));
        assert!(!is_owned_by_flotilla(&live(), "/spec/paused"));
    }

    #[test]
    fn p13_a_change_is_attributed_to_the_owner_of_the_field_or_the_newest_other_manager() {
        assert_eq!(changing_manager(&live(), &["/spec/paused".into()]), "old-manager");
        assert_eq!(changing_manager(&live(), &["/spec/gone".into()]), "kubectl-edit");
        assert_eq!(changing_manager(&live(), &["/data/key".into()]), "kubectl-edit", "owned as a whole");
        assert_eq!(changing_manager(&json!({}), &[]), UNKNOWN_MANAGER);
    }

    #[test]
    fn list_items_with_several_keys_are_matched() {
        let live = json!({"metadata": {"managedFields": [{"manager": "flotilla", "fieldsV1": {"f:spec": {"f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:targetPort": {}}}}}}]}});
        assert!(is_owned_by_flotilla(&live, "/spec/ports[port=80][protocol=TCP]/targetPort"));
        assert!(
            is_owned_by_flotilla(&live, "/spec/ports[port=80]/targetPort"),
            "the server defaults missing keys"
        );
        assert!(!is_owned_by_flotilla(&live, "/spec/ports[port=81]/targetPort"));
    }
}
