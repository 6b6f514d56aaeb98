//! Envelopes: documents that contain the objects instead of being one: lists, and `ManifestWork` of Open Cluster Management.

use serde_json::Value;

/// The kind of Open Cluster Management that contains manifests.
pub const MANIFEST_WORK: &str = "ManifestWork";
const WORK_GROUP: &str = "work.open-cluster-management.io/";

/// Whether this is a `ManifestWork`.
pub fn is_manifest_work(value: &Value) -> bool {
    value["kind"] == MANIFEST_WORK
        && value["apiVersion"].as_str().is_some_and(|version| version.starts_with(WORK_GROUP))
}

/// The objects of an envelope.
pub(super) struct Contents {
    /// The objects.
    pub items: Vec<Value>,
    /// The fields from the envelope to the list of objects.
    pub path: &'static [&'static str],
}

/// Removes and returns the objects of an envelope; `None` for an object.
pub(super) fn take_contents(value: &mut Value) -> Option<Contents> {
    let path: &[&str] = if is_manifest_work(value) {
        &["spec", "workload", "manifests"]
    } else if is_list(value) {
        &["items"]
    } else {
        return None;
    };
    let list = path.iter().try_fold(value, |value, key| value.get_mut(key))?;
    match list {
        Value::Array(items) => Some(Contents { items: std::mem::take(items), path }),
        _ => None,
    }
}

/// The name of a custom kind may also end with `List`; a list has no metadata.name.
fn is_list(value: &Value) -> bool {
    value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"))
        && value.pointer("/metadata/name").is_none()
}
