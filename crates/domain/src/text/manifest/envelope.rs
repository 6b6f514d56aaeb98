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
    let implied = implied_type(value);
    let list = path.iter().try_fold(value, |value, key| value.get_mut(key))?;
    let Value::Array(items) = list else { return None };
    let mut items = std::mem::take(items);
    if let Some((api_version, kind)) = implied {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            let has_text = |field: &str| item.get(field).is_some_and(|found| !found.is_null() && found != "");
            if !has_text("apiVersion") || !has_text("kind") {
                item.insert("apiVersion".to_owned(), api_version.clone().into());
                item.insert("kind".to_owned(), kind.clone().into());
            }
        }
    }
    Some(Contents { items, path })
}

/// The `apiVersion` and `kind` of the items of a typed list, which may leave them out: those of the list, the kind by [`item_kind`].
fn implied_type(value: &Value) -> Option<(String, String)> {
    let kind = item_kind(value["kind"].as_str()?)?;
    Some((value["apiVersion"].as_str()?.to_owned(), kind.to_owned()))
}

/// The kind of the items of a typed list, such as `RoleList`, by the kind of the list: without "List". The rule is that of apimachinery's
/// `UnstructuredList`. A `List` of anything implies nothing. What hides the values of Secrets follows it too, so that an item is one thing
/// for both.
pub(crate) fn item_kind(kind: &str) -> Option<&str> {
    kind.strip_suffix("List").filter(|kind| !kind.is_empty())
}

/// The name of a custom kind may also end with `List`; a list has no metadata.name.
fn is_list(value: &Value) -> bool {
    value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"))
        && value.pointer("/metadata/name").is_none()
}
