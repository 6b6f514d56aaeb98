//! Reads `metadata.managedFields`: who owns a field, and so who changed it.
//!
//! A field that differs but is still ours was not changed by anybody: the server writes it differently (`1000m` and
//! `1`), or an admission hook fills it in with every apply. Only a field that somebody else owns, or that nobody owns
//! any more, has drifted.

use domain::path::{self, Path, Segment};
use serde_json::Value;

use crate::api::FIELD_MANAGER;

/// A manager nobody can be named for.
pub(crate) const UNKNOWN: &str = "unknown";

/// Whether one of our own entries owns the field at `path`.
pub(crate) fn is_ours(live: &Value, path: &str) -> bool {
    let steps = steps(path);
    entries(live)
        .iter()
        .filter(|entry| entry["manager"] == FIELD_MANAGER)
        .any(|entry| owns(&entry["fieldsV1"], &steps))
}

/// The manager who changed these fields: the newest one that owns any of them, else the newest other manager, who
/// must have taken them away.
pub(crate) fn culprit(live: &Value, paths: &[String]) -> String {
    let steps: Vec<Vec<Segment>> = paths.iter().map(|path| steps(path)).collect();
    let others = || {
        entries(live)
            .iter()
            .filter(|entry| entry["manager"] != FIELD_MANAGER && entry["subresource"] != "status")
    };
    let newest = |candidates: &mut dyn Iterator<Item = &Value>| {
        let newest = candidates.max_by(|a, b| a["time"].as_str().cmp(&b["time"].as_str()));
        newest.and_then(|entry| entry["manager"].as_str().map(str::to_owned))
    };
    newest(&mut others().filter(|entry| steps.iter().any(|steps| owns(&entry["fieldsV1"], steps))))
        .or_else(|| newest(&mut others()))
        .unwrap_or_else(|| UNKNOWN.to_owned())
}

fn entries(live: &Value) -> &[Value] {
    live.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a set of fields has the path, itself or as part of something owned as a whole.
fn owns(fields: &Value, steps: &[Segment]) -> bool {
    let mut node = fields;
    for step in steps {
        let Some(map) = node.as_object() else { return false };
        if map.is_empty() && !std::ptr::eq(node, fields) {
            return true;
        }
        let next = match step {
            Segment::Key(name) => map.get(&format!("f:{name}")).or_else(|| map.get(&format!("i:{name}"))),
            Segment::Item(pairs) => map.iter().find(|(key, _)| is_item(key, pairs)).map(|(_, value)| value),
        };
        match next {
            Some(next) => node = next,
            None => return false,
        }
    }
    true
}

/// Whether `k:{"name":"web"}` names the item with these keys; keys the server filled in may be more.
fn is_item(key: &str, pairs: &[(String, String)]) -> bool {
    let Some(Ok(item)) = key.strip_prefix("k:").map(serde_json::from_str::<Value>) else { return false };
    pairs.iter().all(|(name, wanted)| path::scalar(&item[name]).is_some_and(|text| text == *wanted))
}

fn steps(path: &str) -> Vec<Segment> {
    // Only paths of the comparison come here, and those can be read; a path that can't names nothing.
    path.parse::<Path>().map(|path| path.0).unwrap_or_default()
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
            {"manager": "old-hand", "operation": "Update", "time": "2026-01-02T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:paused": {}}}},
            {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-03T00:00:00Z",
             "fieldsV1": {"f:data": {}}},
            {"manager": "controller", "operation": "Update", "subresource": "status",
             "time": "2026-01-04T00:00:00Z", "fieldsV1": {"f:status": {}}},
        ]}})
    }

    #[test]
    fn p25_a_field_is_ours_while_our_entry_names_it() {
        assert!(is_ours(&live(), "/spec/replicas"));
        assert!(is_ours(&live(), "/spec/template/spec/containers[name=web]/image"));
        assert!(is_ours(&live(), "/metadata/labels/a~1b"));
        assert!(!is_ours(&live(), "/spec/template/spec/containers[name=other]/image"));
        assert!(!is_ours(&live(), "/spec/paused"));
    }

    #[test]
    fn p13_the_culprit_is_the_owner_of_the_field_or_the_newest_other_hand() {
        assert_eq!(culprit(&live(), &["/spec/paused".into()]), "old-hand");
        assert_eq!(culprit(&live(), &["/spec/gone".into()]), "kubectl-edit");
        assert_eq!(culprit(&live(), &["/data/key".into()]), "kubectl-edit", "owned as a whole");
        assert_eq!(culprit(&json!({}), &[]), UNKNOWN);
    }

    #[test]
    fn items_with_several_keys_are_found() {
        let live = json!({"metadata": {"managedFields": [{"manager": "flotilla", "fieldsV1": {"f:spec": {"f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:targetPort": {}}}}}}]}});
        assert!(is_ours(&live, "/spec/ports[port=80][protocol=TCP]/targetPort"));
        assert!(is_ours(&live, "/spec/ports[port=80]/targetPort"), "the server fills keys in");
        assert!(!is_ours(&live, "/spec/ports[port=81]/targetPort"));
    }
}
