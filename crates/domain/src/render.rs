//! Rendering: the manifests of one revision with one cluster's overrides and values, as a bundle.
//!
//! The result depends on nothing but the arguments, so the same revision gives the same digest everywhere (P32).

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::bundle::{Bundle, object_ref};
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::manifest::Parsed;
use crate::name;
use crate::object::ObjectRef;
use crate::overrides;
use crate::placement::ClusterGroup;
use crate::template::{self, Values};
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

/// One revision, to be rendered for many clusters.
#[derive(Debug, Clone, Copy)]
pub struct Rendering<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// Number of the revision.
    pub revision: u32,
    /// What was published.
    pub spec: &'a WorkloadSpec,
    /// Its manifests.
    pub parsed: &'a Parsed,
    /// The groups of the fleet.
    pub groups: &'a [ClusterGroup],
    /// Names of all clusters that it goes to, sorted.
    pub targets: &'a [String],
}

/// Why there is no bundle. Findings carry the cluster's name, so that [`crate::finding::group`] can fold them.
#[derive(Debug, Clone, PartialEq)]
pub enum Unrendered {
    /// Only a change of the workload helps.
    Refused(Vec<Finding>),
    /// A template asks for what is not known of the cluster yet (S4-9).
    Waiting(Vec<Finding>),
}

impl Rendering<'_> {
    /// The bundle for `cluster`, or why there is none. Namespaces are not added here: the engine makes those it needs.
    pub fn of(&self, cluster: &Cluster) -> Result<Bundle, Unrendered> {
        refuse(self.parsed.findings.clone())?;
        let spec = self.spec;
        let effective = overrides::effective(&self.parsed.objects(), &spec.overrides, cluster, self.groups);
        refuse(effective.findings.into_iter().map(|finding| on(finding, cluster)).collect())?;
        let mut objects = effective.objects;
        self.fill(&mut objects, cluster)?;
        let scopes = Scopes::of(objects.iter(), Some(&cluster.facts));
        let objects: Vec<Value> =
            objects.into_iter().map(|object| finish(object, &spec.namespace, &scopes)).collect();
        refuse(objects.iter().filter_map(reserved).map(|finding| on(finding, cluster)).collect())?;
        Ok(Bundle::new(objects))
    }

    /// What variables stand for on `cluster`.
    pub fn values<'a>(&'a self, cluster: &'a Cluster) -> Values<'a> {
        Values {
            cluster,
            workload: self.workload,
            namespace: &self.spec.namespace,
            revision: self.revision,
            targets: self.targets,
        }
    }

    /// Whether a value that is missing on `cluster` is waited for, rather than a reason to refuse the publish.
    pub fn waits_on(&self, cluster: &Cluster) -> bool {
        self.spec.addon || !cluster.facts.are_known()
    }

    /// Fills templates in (S4-7, G115).
    fn fill(&self, objects: &mut [Value], cluster: &Cluster) -> Result<(), Unrendered> {
        let values = self.values(cluster);
        let (mut refused, mut waiting, mut filled) = (Vec::new(), Vec::new(), false);
        for object in objects.iter_mut().filter(|object| template::is_templated(object)) {
            let name = object_ref(object);
            for problem in template::fill(object, &values) {
                refused.extend(template::static_finding(&problem, &name));
                waiting.extend(template::missing_finding(&problem, &name, cluster, self.waits_on(cluster)));
            }
            refused.extend(misnamed(object));
            filled = true;
        }
        if filled {
            refused.extend(became_the_same(objects));
        }
        refuse(refused.into_iter().map(|finding| on(finding, cluster)).collect())?;
        if waiting.is_empty() { Ok(()) } else { Err(Unrendered::Waiting(waiting)) }
    }
}

/// Ends with the findings if one of them refuses the publish.
fn refuse(findings: Vec<Finding>) -> Result<(), Unrendered> {
    if findings.iter().any(Finding::blocks) { Err(Unrendered::Refused(findings)) } else { Ok(()) }
}

/// G101 once more, because a value may have made a name that is none.
fn misnamed(object: &Value) -> Option<Finding> {
    let name = object_ref(object);
    let free = name.group == "rbac.authorization.k8s.io" || template::is_templated(object);
    (!free && !name::is_subdomain(&name.name)).then(|| {
        Finding::error(
            "G101",
            format!("With this cluster's values, {name} has a name that Kubernetes refuses."),
            "Use a value of small letters, digits and \"-\", or | lower.",
        )
        .about(name.to_string())
        .at("/metadata/name")
    })
}

/// G110 once more, because values may have made two names the same.
fn became_the_same(objects: &[Value]) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let again = objects.iter().map(object_ref).filter(|name| !seen.insert(name.clone()));
    let twice = |name: ObjectRef| {
        Finding::error(
            "G110",
            format!("With this cluster's values, {name} is there twice."),
            "Give the objects names that stay different.",
        )
        .about(name.to_string())
    };
    again.map(twice).collect()
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
