//! What a person may do to the published objects: change or remove each field, item and value that Flotilla owns by their
//! `metadata.managedFields`.

use domain::field_path::{FieldPath, PathSegment, scalar_text};
use kubesim::SimCluster;
use serde_json::{Value, json};

/// How a field is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    Change,
    Remove,
}

/// An edit of a field of a published object.
#[derive(Debug, Clone)]
pub struct OwnedEdit {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub path: FieldPath,
    pub edit: EditKind,
}

/// Fields that are not edited: the kind of the object, the begin of the path, and the reason.
const LEFT_OUT: [(&str, &str, &str); 3] = [
    ("Deployment", "/spec/replicas", "an autoscaler sets them, so an edit of them is no drift"),
    ("Crew", "/spec/size", "a scaler sets it"),
    (
        "CustomResourceDefinition",
        "/spec",
        "an edit of a definition takes its objects with it; the agreement tests have a deleted one",
    ),
];

/// Every edit of the fields of these objects that Flotilla owns on the cluster.
pub fn owned_edits(cluster: &SimCluster, objects: &[Value]) -> Vec<OwnedEdit> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut edits = Vec::new();
    for object in objects {
        let template = OwnedEdit {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&object["metadata"]["name"]),
            path: FieldPath::default(),
            edit: EditKind::Change,
        };
        let live = template.live(cluster);
        let entries = live["metadata"]["managedFields"].as_array().unwrap();
        let (own, others): (Vec<&Value>, Vec<&Value>) =
            entries.iter().partition(|entry| entry["manager"] == engine::FIELD_MANAGER);
        for entry in own {
            let others: Vec<&Value> = others.iter().map(|other| &other["fieldsV1"]).collect();
            let mut found = FoundFields { kind: &template.kind, fields: Vec::new() };
            found.walk(&entry["fieldsV1"], &FieldPath::default(), &[], &others);
            edits.extend(found.fields.into_iter().map(|(path, edit)| OwnedEdit {
                path,
                edit,
                ..template.clone()
            }));
        }
    }
    edits
}

struct FoundFields<'a> {
    kind: &'a str,
    fields: Vec<(FieldPath, EditKind)>,
}

impl FoundFields<'_> {
    /// Collects the fields below a node of `fieldsV1`. `keys` identify the item that contains them: a change of them would be
    /// another item. `others` are the nodes of other managers for the same value.
    fn walk(&mut self, node: &Value, path: &FieldPath, keys: &[String], others: &[&Value]) {
        for (name, child) in node.as_object().unwrap() {
            let Some((segment, item_keys)) = to_segment(name) else { continue };
            let is_key = matches!(&segment, PathSegment::Key(field) if keys.contains(field));
            let is_item = matches!(segment, PathSegment::Item(_));
            let path = path.with_segment(segment);
            let text = path.to_string();
            if is_key
                || LEFT_OUT.iter().any(|(kind, begin, _)| *kind == self.kind && text.starts_with(*begin))
            {
                continue;
            }
            let others: Vec<&Value> = others.iter().filter_map(|other| other.get(name)).collect();
            let is_leaf = child.as_object().is_some_and(serde_json::Map::is_empty);
            if is_leaf && !is_item {
                self.fields.push((path.clone(), EditKind::Change));
            }
            // What another manager has in an item would be lost with it.
            if (is_leaf || is_item) && others.is_empty() {
                self.fields.push((path.clone(), EditKind::Remove));
            }
            self.walk(child, &path, &item_keys, &others);
        }
    }
}

/// The segment of a key of `fieldsV1`, and the fields that identify the item; `None` for the value itself (`.`).
fn to_segment(name: &str) -> Option<(PathSegment, Vec<String>)> {
    let (kind, rest) = name.split_once(':')?;
    match kind {
        "f" => Some((PathSegment::Key(rest.to_owned()), Vec::new())),
        "k" => {
            let item: Value = serde_json::from_str(rest).unwrap();
            let pairs: Vec<(String, String)> = item
                .as_object()
                .unwrap()
                .iter()
                .map(|(field, value)| (field.clone(), scalar_text(value).unwrap().into_owned()))
                .collect();
            let keys = pairs.iter().map(|(field, _)| field.clone()).collect();
            Some((PathSegment::Item(pairs), keys))
        }
        "v" => {
            let value: Value = serde_json::from_str(rest).unwrap();
            Some((PathSegment::Item(vec![(".".to_owned(), scalar_text(&value)?.into_owned())]), Vec::new()))
        }
        _ => None,
    }
}

impl OwnedEdit {
    /// The object as it is on the cluster.
    pub fn live(&self, cluster: &SimCluster) -> Value {
        cluster.get((&self.api_version, &self.kind), (&self.namespace, &self.name)).unwrap()
    }

    /// The content that a person sees: without what the server and controllers count, and with lists in one order.
    pub fn content(&self, cluster: &SimCluster) -> Value {
        let mut live = self.live(cluster);
        live.as_object_mut().unwrap().remove("status");
        for field in ["managedFields", "resourceVersion", "generation"] {
            live["metadata"].as_object_mut().unwrap().remove(field);
        }
        sort_lists(&mut live);
        live
    }

    /// Whether the watch of the objects with the label of a release no longer shows the object.
    pub fn hides_object(&self) -> bool {
        let label = ["metadata", "labels", engine::RELEASE_LABEL].map(|key| PathSegment::Key(key.to_owned()));
        self.edit == EditKind::Remove && self.path.0 == label
    }

    /// Edits the object. `false` if the API server refuses it.
    pub fn apply(&self, cluster: &SimCluster) -> bool {
        let identity =
            ((self.api_version.as_str(), self.kind.as_str()), (self.namespace.as_str(), self.name.as_str()));
        cluster.edit(identity.0, identity.1, "kubectl-edit", |live| self.edit(live)).is_ok()
    }

    fn edit(&self, live: &mut Value) {
        let (last, parents) = self.path.0.split_last().unwrap();
        let Some(parent) = parents.iter().try_fold(live, |value, segment| child_mut(value, segment)) else {
            panic!("{}: {self:?} has no parent", self.path)
        };
        match (self.edit, last, parent) {
            (EditKind::Remove, PathSegment::Key(key), Value::Object(map)) => drop(map.remove(key)),
            (EditKind::Remove, PathSegment::Item(pairs), Value::Array(items)) => {
                items.retain(|item| !is_item(item, pairs));
            }
            (EditKind::Change, segment, parent) => {
                let value = child_mut(parent, segment).unwrap_or_else(|| panic!("{self:?} does not exist"));
                *value = self.valid_value().unwrap_or_else(|| changed(value));
            }
            (_, _, parent) => panic!("{self:?} does not fit {parent}"),
        }
    }

    /// Another value that the API server accepts for the fields of which it does not accept just any.
    fn valid_value(&self) -> Option<Value> {
        match (self.kind.as_str(), self.path.to_string().as_str()) {
            ("Secret", path) if path.starts_with("/data") => Some("ZWRpdGVk".into()),
            ("CronJob", "/spec/schedule") => Some("30 4 * * *".into()),
            ("CronJob", "/spec/concurrencyPolicy") => Some("Replace".into()),
            ("RoleBinding", "/subjects") => {
                Some(json!([{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}]))
            }
            _ => None,
        }
    }

    /// Whether the report of a drift names this field: itself, something in it, or what contains it if nothing is left of that.
    pub fn is_named_by(&self, reported: &str) -> bool {
        let own = first_conditions(&self.path.to_string());
        let reported = first_conditions(reported);
        reported.starts_with(&own) || own.starts_with(&reported)
    }
}

/// A path with one condition per item: a report leaves out keys that the server defaults.
fn first_conditions(path: &str) -> String {
    let mut parts = path.split("][");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push(']');
        text.push_str(part.split_once(']').map_or("", |(_, rest)| rest));
    }
    text
}

/// Another value of the same type.
fn changed(value: &Value) -> Value {
    match value {
        Value::String(text) => format!("{text}-edited").into(),
        Value::Bool(is_set) => (!is_set).into(),
        Value::Number(number) => (number.as_i64().unwrap() + 1).into(),
        Value::Array(items) => {
            let added = items.first().map_or_else(|| "edited".into(), changed);
            items.iter().cloned().chain([added]).collect::<Vec<Value>>().into()
        }
        Value::Object(map) if map.is_empty() => json!({"matchLabels": {"edited": "yes"}}),
        Value::Object(map) => {
            let mut map = map.clone();
            let text = map.iter().find(|(_, value)| value.is_string());
            let key = text.or_else(|| map.iter().next()).map(|(key, _)| key.clone());
            if let Some(key) = key
                && let Some(value) = map.get_mut(&key)
            {
                *value = changed(value);
            }
            map.into()
        }
        Value::Null => "edited".into(),
    }
}

fn child_mut<'a>(value: &'a mut Value, segment: &PathSegment) -> Option<&'a mut Value> {
    match (segment, value) {
        (PathSegment::Key(key), Value::Object(map)) => map.get_mut(key),
        (PathSegment::Item(pairs), Value::Array(items)) => items.iter_mut().find(|item| is_item(item, pairs)),
        _ => None,
    }
}

fn is_item(item: &Value, pairs: &[(String, String)]) -> bool {
    pairs.iter().all(|(field, text)| {
        let value = if field == "." { item } else { &item[field.as_str()] };
        scalar_text(value).is_some_and(|found| *found == **text)
    })
}

fn sort_lists(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(sort_lists);
            items.sort_by_key(Value::to_string);
        }
        Value::Object(map) => map.values_mut().for_each(sort_lists),
        _ => {}
    }
}
