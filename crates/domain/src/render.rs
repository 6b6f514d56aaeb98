//! Rendering: the manifests of one revision with one cluster's overrides, as a bundle.
//!
//! The result depends on nothing but the arguments, so the same revision gives the same digest everywhere (P32).

use serde_json::{Map, Value};

use crate::bundle::{Bundle, object_ref};
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::manifest::Parsed;
use crate::name;
use crate::overrides;
use crate::placement::ClusterGroup;
use crate::workload::WorkloadSpec;

pub(crate) mod scope;

use scope::Scopes;

/// Who manages an object, as other tools read it.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What kubectl leaves behind; it would carry an old copy of the object around.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Fields of `metadata` that the API server owns.
const SERVER_OWNED: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"];

/// The bundle for `cluster`, or why there is none. Namespaces are not added here: the engine makes those it needs.
///
/// Findings carry the cluster's name, so that [`crate::finding::group`] can fold them over clusters.
pub fn render(
    spec: &WorkloadSpec,
    parsed: &Parsed,
    cluster: &Cluster,
    groups: &[ClusterGroup],
) -> Result<Bundle, Vec<Finding>> {
    refuse(parsed.findings.clone())?;
    let effective = overrides::effective(&parsed.objects(), &spec.overrides, cluster, groups);
    refuse(effective.findings.into_iter().map(|finding| on(finding, cluster)).collect())?;
    let scopes = Scopes::of(effective.objects.iter(), Some(&cluster.facts));
    let objects: Vec<Value> =
        effective.objects.into_iter().map(|object| finish(object, &spec.namespace, &scopes)).collect();
    refuse(objects.iter().filter_map(reserved).map(|finding| on(finding, cluster)).collect())?;
    Ok(Bundle::new(objects))
}

/// Ends with the findings if one of them refuses the publish.
fn refuse(findings: Vec<Finding>) -> Result<(), Vec<Finding>> {
    if findings.iter().any(Finding::blocks) { Err(findings) } else { Ok(()) }
}

fn on(finding: Finding, cluster: &Cluster) -> Finding {
    finding.on(vec![cluster.name.clone()])
}

/// G107 once more, because an override may have changed a namespace.
fn reserved(object: &Value) -> Option<Finding> {
    let name = object_ref(object);
    let made = name.kind == "Namespace" && name.group.is_empty();
    let namespace = if made { &name.name } else { &name.namespace };
    if namespace.is_empty() && name.kind != "Namespace" {
        return None;
    }
    let path = if made { "/metadata/name" } else { "/metadata/namespace" };
    name::check_namespace(namespace).map(|finding| finding.about(name.to_string()).at(path))
}

/// An object as it is applied: in its namespace, marked as ours, without what belongs to the server.
fn finish(mut object: Value, namespace: &str, scopes: &Scopes) -> Value {
    let name = object_ref(&object);
    let namespaced = scopes.is_namespaced(&name.group, &name.kind);
    let Some(map) = object.as_object_mut() else { return object };
    map.shift_remove("status");
    if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
        for field in SERVER_OWNED {
            metadata.shift_remove(field);
        }
        drop_last_applied(metadata);
        place(metadata, namespaced.then_some(namespace));
        mark(metadata);
    }
    object
}

fn drop_last_applied(metadata: &mut Map<String, Value>) {
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
        && annotations.shift_remove(LAST_APPLIED).is_some()
        && annotations.is_empty()
    {
        metadata.shift_remove("annotations");
    }
}

/// Fills the namespace in, or takes it away from an object that has none.
fn place(metadata: &mut Map<String, Value>, namespace: Option<&str>) {
    let written = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    match namespace {
        None => {
            metadata.shift_remove("namespace");
        }
        Some(namespace) if written.is_empty() => {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        Some(_) => {}
    }
}

/// Says on the object, never in pod templates or selectors, who manages it; what a person wrote stays.
fn mark(metadata: &mut Map<String, Value>) {
    let labels = metadata.entry("labels").or_insert(Value::Null);
    if labels.is_null() {
        *labels = Value::Object(Map::new());
    }
    if let Value::Object(labels) = labels {
        labels.entry(MANAGED_BY).or_insert_with(|| "flotilla".into());
    }
}

#[cfg(test)]
mod tests;
