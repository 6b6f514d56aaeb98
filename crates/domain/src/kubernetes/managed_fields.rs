//! Reads `metadata.managedFields` of a live object: which field manager owns a field, which one changed it, and how the server
//! merges a list.
//!
//! A field that differs but is still owned by Flotilla was not changed by another party: the server normalizes it
//! (`1000m` and `1`), or an admission webhook sets it on every apply. Only a field owned by another manager, or by
//! none, has drifted.
//!
//! The keys of `fieldsV1` (structured merge diff 4) follow the list types of the server's own schema, those of custom
//! resources included: `k:{…}` is an item of a list of type `map`, `v:…` one of type `set`, and a list owned as a whole is
//! `atomic`.

use serde_json::Value;

use super::field_path::{FieldPath, PathSegment, SELF_FIELD, scalar_text};
use super::time::Timestamp;

/// The field manager of every write by Flotilla.
pub const FIELD_MANAGER: &str = "flotilla";
/// The manager of a change without a recorded manager.
pub const UNKNOWN_MANAGER: &str = "unknown";
/// The subresource through which scalers set the number of replicas.
const SCALE_SUBRESOURCE: &str = "scale";
/// Managers of people who scale by hand, also through that subresource: `kubectl scale`, `oc scale` of OpenShift, k9s, and consoles in a
/// browser. What they wrote is drift like every other edit.
const SCALED_BY_HAND: [&str; 4] = ["kubectl", "oc", "k9s", "Mozilla"];
/// The controllers of Kubernetes, with the names that they have in distributions of a single program. They scale what a
/// HorizontalPodAutoscaler names, and those are read as objects: one that is gone scales nothing, although its last write is still recorded.
const KUBERNETES_CONTROLLERS: [&str; 3] = ["kube-controller-manager", "k3s", "kubelite"];

/// How the server merges a list (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListMergeType {
    /// Replaced as a whole.
    Atomic,
    /// Every item has its own owners.
    Set,
    /// Every item has its own owners and is identified by these fields.
    Map(Vec<String>),
}

/// The managers that own a value of a live object, or something in it. Empty if the object has no managed fields.
#[derive(Debug, Clone, Default)]
pub struct FieldOwners<'a> {
    nodes: Vec<OwnerNode<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct OwnerNode<'a> {
    is_flotilla: bool,
    /// The part of `fieldsV1` below the value; empty if the manager owns it as a whole.
    fields: &'a Value,
}

impl OwnerNode<'_> {
    fn is_whole(&self) -> bool {
        self.fields.as_object().is_some_and(serde_json::Map::is_empty)
    }
}

impl<'a> FieldOwners<'a> {
    /// The owners of a whole object.
    pub fn of_object(live: &'a Value) -> Self {
        let entries = manager_entries(live).iter().map(|entry| OwnerNode {
            is_flotilla: entry["manager"] == FIELD_MANAGER,
            fields: &entry["fieldsV1"],
        });
        Self { nodes: entries.filter(|node| !node.is_whole()).collect() }
    }

    /// The owners of a field or item of this value. Who owns a value as a whole owns everything in it.
    #[must_use]
    pub fn child(&self, segment: &PathSegment) -> Self {
        let child = |node: &OwnerNode<'a>| {
            if node.is_whole() {
                return Some(*node);
            }
            Some(OwnerNode { fields: child_node(node.fields, segment)?, ..*node })
        };
        Self { nodes: self.nodes.iter().filter_map(child).collect() }
    }

    /// How the server merges this list; `None` if no manager owns an item of it.
    pub fn list_type(&self) -> Option<ListMergeType> {
        let mut keys =
            self.nodes.iter().filter_map(|node| node.fields.as_object()).flat_map(|map| map.keys());
        let typed = keys.find_map(|key| match key.split_once(':')? {
            ("v", _) => Some(ListMergeType::Set),
            ("k", item) => {
                let item: Value = serde_json::from_str(item).ok()?;
                Some(ListMergeType::Map(item.as_object()?.keys().cloned().collect()))
            }
            _ => None,
        });
        typed.or_else(|| self.nodes.iter().any(OwnerNode::is_whole).then_some(ListMergeType::Atomic))
    }

    /// Whether another manager replaced this value as a whole: it is atomic, and Flotilla does not own it any more.
    pub fn is_replaced(&self) -> bool {
        !self.nodes.is_empty() && self.nodes.iter().all(|node| node.is_whole() && !node.is_flotilla)
    }
}

/// A field that a scaler sets through the scale subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaledField {
    /// Its path: `/spec/replicas`, unless the definition of a custom kind names another one.
    pub path: FieldPath,
    /// The manager of the scaler.
    pub manager: String,
}

/// The numbers in the `spec` whose present value a scaler wrote through the scale subresource: that is its contract with the owner of
/// the object, whatever the kind of the scaler. Neither people nor the controllers of Kubernetes count (`SCALED_BY_HAND`,
/// `KUBERNETES_CONTROLLERS`). Whoever writes another value later owns the field instead.
pub fn scaled_fields(live: &Value) -> Vec<ScaledField> {
    let mut scaled = Vec::new();
    for entry in manager_entries(live).iter().filter(|entry| entry["subresource"] == SCALE_SUBRESOURCE) {
        let manager = entry["manager"].as_str().unwrap_or_default();
        if !is_scaler(manager) {
            continue;
        }
        let mut paths = Vec::new();
        collect_paths(&entry["fieldsV1"]["f:spec"], &FieldPath::default().with_key("spec"), &mut paths);
        paths.retain(|path| path.get(live).is_some_and(Value::is_number));
        scaled.extend(paths.into_iter().map(|path| ScaledField { path, manager: manager.to_owned() }));
    }
    scaled
}

fn is_scaler(manager: &str) -> bool {
    !manager.is_empty()
        && manager != FIELD_MANAGER
        && !is_person(manager)
        && !KUBERNETES_CONTROLLERS.contains(&manager)
}

/// Whether a manager is a tool with which people scale and edit by hand (`SCALED_BY_HAND`).
pub fn is_person(manager: &str) -> bool {
    // The name is that of the program, with its extension on Windows.
    let manager = manager.strip_suffix(".exe").unwrap_or(manager);
    // Other commands of kubectl have names such as `kubectl-edit`.
    SCALED_BY_HAND.contains(&manager) || manager.starts_with("kubectl-")
}

/// The paths of the named fields of a part of `fieldsV1` that have nothing below them.
fn collect_paths(fields: &Value, path: &FieldPath, found: &mut Vec<FieldPath>) {
    for (key, below) in fields.as_object().into_iter().flatten() {
        let Some(name) = key.strip_prefix("f:") else { continue };
        let path = path.with_key(name);
        if below.as_object().is_some_and(serde_json::Map::is_empty) {
            found.push(path);
        } else {
            collect_paths(below, &path, found);
        }
    }
}

/// Whether a `flotilla` entry owns the field at `path`.
pub fn is_owned_by_flotilla(live: &Value, path: &str) -> bool {
    let steps = parse_segments(path);
    manager_entries(live)
        .iter()
        .filter(|entry| entry["manager"] == FIELD_MANAGER)
        .any(|entry| owns_path(&entry["fieldsV1"], &steps))
}

/// Who wrote a field last, as `metadata.managedFields` records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldWriter {
    /// The field manager; [`UNKNOWN_MANAGER`] if none is recorded.
    pub manager: String,
    /// `Apply` or `Update`; empty if it is not recorded.
    pub operation: String,
    /// When the manager last wrote the object, by the clock of the API server; `None` if it is not recorded or can't be read.
    pub at: Option<Timestamp>,
}

/// The manager that changed these fields: the newest one that owns any of them. Who only removed fields owns none of them and is
/// unknown: the newest other manager may be one that wrote something else, such as the number of replicas.
pub fn find_writer(live: &Value, paths: &[String]) -> FieldWriter {
    let steps: Vec<Vec<PathSegment>> = paths.iter().map(|path| parse_segments(path)).collect();
    let owners = manager_entries(live).iter().filter(|entry| {
        entry["manager"] != FIELD_MANAGER
            && entry["subresource"] != "status"
            && steps.iter().any(|steps| owns_path(&entry["fieldsV1"], steps))
    });
    let newest = owners.max_by(|a, b| a["time"].as_str().cmp(&b["time"].as_str()));
    let text = |field: &str| newest.and_then(|entry| entry[field].as_str());
    FieldWriter {
        manager: text("manager").unwrap_or(UNKNOWN_MANAGER).to_owned(),
        operation: text("operation").unwrap_or_default().to_owned(),
        at: text("time").and_then(|time| time.parse().ok()),
    }
}

/// The field manager of [`find_writer`].
pub fn changing_manager(live: &Value, paths: &[String]) -> String {
    find_writer(live, paths).manager
}

/// The entries without those for the object itself that `is_former` selects by manager and operation; `None` if there are none.
pub fn without_managers(live: &Value, is_former: impl Fn(&str, &str) -> bool) -> Option<Vec<Value>> {
    let entries = manager_entries(live);
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let is_other = |entry: &&Value| {
        entry["subresource"].is_string() || !is_former(&text(entry, "manager"), &text(entry, "operation"))
    };
    let others: Vec<Value> = entries.iter().filter(is_other).cloned().collect();
    (others.len() < entries.len()).then_some(others)
}

fn manager_entries(live: &Value) -> &[Value] {
    live.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What a part of `fieldsV1` has below a segment of a path.
fn child_node<'a>(fields: &'a Value, segment: &PathSegment) -> Option<&'a Value> {
    let map = fields.as_object()?;
    match segment {
        PathSegment::Key(name) => map.get(&format!("f:{name}")).or_else(|| map.get(&format!("i:{name}"))),
        PathSegment::Item(pairs) => map.iter().find(|(key, _)| is_item(key, pairs)).map(|(_, node)| node),
    }
}

/// Whether a `fieldsV1` set contains the path or an ancestor that is owned as a whole.
fn owns_path(fields: &Value, steps: &[PathSegment]) -> bool {
    let mut node = fields;
    for step in steps {
        let Some(map) = node.as_object() else { return false };
        if map.is_empty() && !std::ptr::eq(node, fields) {
            return true;
        }
        match child_node(node, step) {
            Some(next) => node = next,
            None => return false,
        }
    }
    true
}

/// Whether a key such as `k:{"name":"web"}` or `v:"web"` is that of the item with these fields; the server may have
/// defaulted more of them.
fn is_item(key: &str, pairs: &[(String, String)]) -> bool {
    let Some((kind @ ("k" | "v"), text)) = key.split_once(':') else { return false };
    let Ok(item) = serde_json::from_str::<Value>(text) else { return false };
    pairs.iter().all(|(name, expected)| {
        let value = if kind == "v" { (name == SELF_FIELD).then_some(&item) } else { item.get(name) };
        value.and_then(scalar_text).is_some_and(|text| text == *expected)
    })
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
            {"manager": "kube-controller-manager", "operation": "Update", "subresource": "scale",
             "time": "2026-01-05T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
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
    fn p13_a_change_is_attributed_to_the_owner_of_the_field_and_to_nobody_without_one() {
        assert_eq!(changing_manager(&live(), &["/spec/paused".into()]), "old-manager");
        assert_eq!(changing_manager(&live(), &["/spec/gone".into()]), UNKNOWN_MANAGER, "somebody removed it");
        assert_eq!(changing_manager(&live(), &["/data/key".into()]), "kubectl-edit", "owned as a whole");
        assert_eq!(changing_manager(&live(), &["/spec/replicas".into()]), "kube-controller-manager");
        assert_eq!(changing_manager(&json!({}), &[]), UNKNOWN_MANAGER);
        let writer = find_writer(&live(), &["/data/key".into()]);
        assert_eq!((writer.operation.as_str(), writer.at), ("Update", "2026-01-03T00:00:00Z".parse().ok()));
        assert_eq!(find_writer(&live(), &["/spec/gone".into()]).at, None, "nobody is known");
    }

    #[test]
    fn p13_a_number_that_a_controller_wrote_through_the_scale_subresource_is_that_of_a_scaler() {
        let scaled_by = |manager: &str, subresource: &str| {
            let live = json!({"spec": {"replicas": 7, "crew": {"size": 3}, "paused": true}, "metadata": {"managedFields": [
                {"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": {"f:spec": {
                    "f:replicas": {}, "f:crew": {"f:size": {}}, "f:paused": {}, "f:gone": {}}}}]}});
            let scaled = scaled_fields(&live).into_iter();
            scaled.map(|field| format!("{} {}", field.path, field.manager)).collect::<Vec<_>>()
        };
        let mut found = scaled_by("keda", "scale");
        found.sort();
        assert_eq!(found, ["/spec/crew/size keda", "/spec/replicas keda"], "numbers only");
        assert_eq!(scaled_by("keda", ""), [""; 0], "it wrote the object itself");
        assert_eq!(scaled_by("keda", "status"), [""; 0]);
        for manager in
            ["kubectl", "kubectl.exe", "kubectl-scale", "oc", "oc.exe", "k9s", "Mozilla", FIELD_MANAGER, ""]
        {
            assert_eq!(scaled_by(manager, "scale"), [""; 0], "{manager} is no controller");
        }
        for manager in KUBERNETES_CONTROLLERS {
            assert_eq!(scaled_by(manager, "scale"), [""; 0], "the autoscalers of {manager} are objects");
        }
        assert_eq!(scaled_fields(&live()), [], "an autoscaler of Kubernetes wrote it");
        assert_eq!(scaled_fields(&json!({})), []);
    }

    #[test]
    fn the_type_of_a_list_is_that_of_the_owned_items() {
        let live = json!({"metadata": {"managedFields": [
            {"manager": "kubectl-edit", "fieldsV1": {"f:spec": {"f:env": {}}}},
            {"manager": "flotilla", "fieldsV1": {"f:spec": {
                "f:listeners": {".": {}, "k:{\"name\":\"http\",\"port\":80}": {".": {}, "f:name": {}}},
                "f:zones": {"v:\"a\"": {}}, "f:args": {}}}},
        ]}});
        let spec = FieldOwners::of_object(&live).child(&PathSegment::Key("spec".into()));
        let field = |name: &str| spec.child(&PathSegment::Key(name.into()));
        assert_eq!(
            field("listeners").list_type(),
            Some(ListMergeType::Map(vec!["name".into(), "port".into()]))
        );
        assert_eq!(field("zones").list_type(), Some(ListMergeType::Set));
        assert_eq!(field("args").list_type(), Some(ListMergeType::Atomic));
        assert_eq!(field("other").list_type(), None);
        assert!(field("env").is_replaced() && !field("args").is_replaced() && !field("other").is_replaced());
        assert!(field("env").child(&PathSegment::Key("0".into())).is_replaced(), "with everything in it");
        assert!(is_owned_by_flotilla(&live, "/spec/zones[.=a]"));
        assert!(!is_owned_by_flotilla(&live, "/spec/zones[.=b]"));
        assert!(!is_owned_by_flotilla(&live, "/spec/listeners[.=a]"));
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
