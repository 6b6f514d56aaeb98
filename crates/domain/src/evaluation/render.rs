//! Rendering: the manifests of one revision with one cluster's overrides and values, as a bundle.
//!
//! The result depends on nothing but the arguments, so the same revision gives the same digest everywhere (P32).

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::kubernetes::object::{ObjectRef, object_ref};
use crate::model::bundle::{Bundle, is_envelope};
use crate::model::chart_hook::{ChartHook, hook_events, sort_hooks};
use crate::model::chart_object::{CHART_CRD_ANNOTATION, is_crd_file};
use crate::model::cluster::{Cluster, ClusterFacts};
use crate::model::overrides;
use crate::model::placement::ClusterGroup;
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;
use crate::text::manifest::{ParsedManifests, check_rendered};
use crate::text::template::{self, TemplateBudget};
use crate::text::{name_check, object_name};

pub(crate) mod scope;
mod template_values;

use scope::KindScopes;
pub use template_values::TemplateValues;

/// Label that names the managing tool of an object, by Kubernetes convention.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Annotation of kubectl; it holds an outdated copy of the object.
const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Fields of `metadata` that the API server owns.
const SERVER_OWNED_FIELDS: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"];

/// One revision, rendered for many clusters.
#[derive(Debug, Clone, Copy)]
pub struct BundleRenderer<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// Number of the revision.
    pub revision: u32,
    /// The published spec.
    pub spec: &'a WorkloadSpec,
    /// Its manifests.
    pub parsed: &'a ParsedManifests,
    /// The cluster groups of the fleet.
    pub groups: &'a [ClusterGroup],
    /// Names of all target clusters, sorted.
    pub targets: &'a [String],
}

/// Why there is no bundle. Findings carry the cluster's name, so that [`crate::text::finding::merge_clusters`] can group them.
#[derive(Debug, Clone, PartialEq)]
pub enum RenderError {
    /// The workload has to be changed.
    Rejected(Vec<Finding>),
    /// A template uses a value that is not known for the cluster yet (S4-9).
    Waiting(Vec<Finding>),
}

impl RenderError {
    /// The findings.
    pub fn into_findings(self) -> Vec<Finding> {
        match self {
            Self::Rejected(findings) | Self::Waiting(findings) => findings,
        }
    }
}

impl BundleRenderer<'_> {
    /// Renders the bundle for `cluster`. Namespace objects are not added: the engine creates missing namespaces.
    ///
    /// # Errors
    /// A finding blocks, or a template value is missing.
    pub fn render_bundle(&self, cluster: &Cluster) -> Result<Bundle, RenderError> {
        self.render_frozen_bundle(cluster, &cluster.facts)
    }

    /// The same for a cluster with the facts of an earlier rendering. `reported` are its present facts: they have the scopes of
    /// kinds that were not served at that time, because an object of such a kind can't be applied without its scope.
    ///
    /// # Errors
    /// As [`Self::render_bundle`].
    pub fn render_frozen_bundle(
        &self,
        cluster: &Cluster,
        reported: &ClusterFacts,
    ) -> Result<Bundle, RenderError> {
        reject_blocking(self.parsed.findings.clone())?;
        let spec = self.spec;
        let (objects, namespace) = (self.parsed.objects(), &spec.namespace);
        let effective =
            overrides::apply_overrides(&objects, &spec.overrides, cluster, self.groups, namespace);
        reject_blocking(
            effective.findings.into_iter().map(|finding| on_cluster(finding, cluster)).collect(),
        )?;
        let mut objects = effective.objects;
        self.mark_chart_crds(&mut objects);
        self.fill_templates(&mut objects, cluster)?;
        let scopes = KindScopes::from_objects(objects.iter(), &[reported, &cluster.facts]);
        let objects: Vec<Value> =
            objects.into_iter().map(|object| finalize_object(object, &spec.namespace, &scopes)).collect();
        reject_blocking(
            objects
                .iter()
                .filter_map(|object| check_namespace(object, spec.policies.allow_system_namespaces))
                .map(|finding| on_cluster(finding, cluster))
                .collect(),
        )?;
        reject_blocking(
            check_rendered(objects.iter()).into_iter().map(|finding| on_cluster(finding, cluster)).collect(),
        )?;
        let reserved = objects.iter().filter_map(check_reserved_kind);
        reject_blocking(reserved.map(|finding| on_cluster(finding, cluster)).collect())?;
        if !spec.source.is_chart() {
            return Ok(Bundle::new(objects));
        }
        let (mut hooks, objects): (Vec<Value>, Vec<Value>) =
            objects.into_iter().partition(|object| !hook_events(object).is_empty());
        hooks.retain(|hook| !ChartHook::from_object(hook).events.is_empty());
        sort_hooks(&mut hooks);
        Ok(Bundle::new(objects).with_hooks(hooks))
    }

    /// Marks the objects from the `crds/` folder of a chart. Overrides keep number and order of the objects.
    fn mark_chart_crds(&self, objects: &mut [Value]) {
        if !self.spec.source.is_chart() {
            return;
        }
        for (object, manifest) in objects.iter_mut().zip(&self.parsed.manifests) {
            if is_crd_file(&manifest.location.file) {
                set_annotation(object, CHART_CRD_ANNOTATION, "true");
            }
        }
    }

    /// The values of template variables on `cluster`.
    pub fn template_values<'a>(&'a self, cluster: &'a Cluster) -> TemplateValues<'a> {
        TemplateValues {
            cluster,
            workload: self.workload,
            namespace: &self.spec.namespace,
            revision: self.revision,
            targets: self.targets,
        }
    }

    /// Whether a missing template value makes the release wait on `cluster`; otherwise the publish is rejected.
    pub fn should_wait_on(&self, cluster: &Cluster) -> bool {
        should_wait_on(self.spec, cluster)
    }

    /// Fills in template expressions (S4-7, G115).
    fn fill_templates(&self, objects: &mut [Value], cluster: &Cluster) -> Result<(), RenderError> {
        let values = self.template_values(cluster);
        let (mut refused, mut waiting, mut filled) = (Vec::new(), Vec::new(), false);
        let mut budget = TemplateBudget::default();
        for object in objects.iter_mut().filter(|object| template::is_templated(object)) {
            let name = object_ref(object);
            for problem in template::fill(object, &values, &mut budget) {
                refused.extend(template::static_finding(&problem, &name));
                waiting.extend(template::missing_finding(
                    &problem,
                    &name,
                    &cluster.name,
                    self.should_wait_on(cluster),
                ));
            }
            refused.extend(check_name(object));
            filled = true;
        }
        if filled {
            refused.extend(check_duplicates(objects));
        }
        reject_blocking(refused.into_iter().map(|finding| on_cluster(finding, cluster)).collect())?;
        if waiting.is_empty() { Ok(()) } else { Err(RenderError::Waiting(waiting)) }
    }
}

/// Whether a missing template value makes the release of this spec wait on `cluster`; otherwise the publish is rejected.
pub(crate) fn should_wait_on(spec: &WorkloadSpec, cluster: &Cluster) -> bool {
    spec.addon || !cluster.facts.is_reported()
}

/// Returns the findings as an error if one of them blocks the publish.
fn reject_blocking(findings: Vec<Finding>) -> Result<(), RenderError> {
    if findings.iter().any(Finding::is_blocking) { Err(RenderError::Rejected(findings)) } else { Ok(()) }
}

/// G101 after rendering, because a template value may have produced an invalid name.
fn check_name(object: &Value) -> Option<Finding> {
    let name = object_ref(object);
    let problem = object_name::find_problem(&name, object).filter(|_| !template::is_templated(object))?;
    let hint = if problem.is_length {
        "Shorten the name, or use a shorter value."
    } else {
        "Use a value of lower-case letters, digits and \"-\", or | lower."
    };
    let message = format!("With this cluster's values, {name} {}.", problem.message);
    Some(
        Finding::error(name_check::INVALID_NAME, message, hint)
            .with_object(name.to_string())
            .with_path("/metadata/name"),
    )
}

/// G110 after rendering, because template values may have produced equal names.
fn check_duplicates(objects: &[Value]) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let again = objects.iter().map(object_ref).filter(|name| !seen.insert(name.clone()));
    let twice = |name: ObjectRef| {
        Finding::error(
            "G110",
            format!("With this cluster's values, {name} is defined twice."),
            "Use names that differ on every cluster.",
        )
        .with_object(name.to_string())
    };
    again.map(twice).collect()
}

fn on_cluster(finding: Finding, cluster: &Cluster) -> Finding {
    finding.with_clusters(vec![cluster.name.clone()])
}

/// G107 after rendering, because an override may have changed a namespace.
fn check_namespace(object: &Value, allows_system: bool) -> Option<Finding> {
    let name = object_ref(object);
    let is_namespace = name.kind == "Namespace" && name.group.is_empty();
    let namespace = if is_namespace { &name.name } else { &name.namespace };
    if namespace.is_empty() && name.kind != "Namespace" {
        return None;
    }
    let path = if is_namespace { "/metadata/name" } else { "/metadata/namespace" };
    name_check::check_object_namespace(namespace, allows_system)
        .map(|finding| finding.with_object(name.to_string()).with_path(path))
}

/// G118: the kind is reserved, and an agent would take the object in it for a hook or a record, without any check.
fn check_reserved_kind(object: &Value) -> Option<Finding> {
    is_envelope(object).then(|| {
        let name = object_ref(object);
        let message = format!("{name} has a kind that is reserved for parts of a bundle.");
        Finding::error(
            "G118",
            message,
            "Remove it: no cluster serves this kind. A hook is an object of a chart with the annotation helm.sh/hook.",
        )
        .with_object(name.to_string())
        .with_path("/kind")
    })
}

/// The object as it is applied: with its namespace and the managed-by label, without server-owned fields.
fn finalize_object(mut object: Value, namespace: &str, scopes: &KindScopes) -> Value {
    let name = object_ref(&object);
    let namespaced = scopes.is_namespaced(&name.group, &name.kind);
    let Some(map) = object.as_object_mut() else { return object };
    map.shift_remove("status");
    if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
        for field in SERVER_OWNED_FIELDS {
            metadata.shift_remove(field);
        }
        remove_last_applied(metadata);
        set_namespace(metadata, namespaced.then_some(namespace));
        set_managed_by(metadata);
    }
    object
}

fn remove_last_applied(metadata: &mut Map<String, Value>) {
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
        && annotations.shift_remove(LAST_APPLIED_ANNOTATION).is_some()
        && annotations.is_empty()
    {
        metadata.shift_remove("annotations");
    }
}

/// Sets a missing namespace, or removes the namespace of a cluster-scoped object.
fn set_namespace(metadata: &mut Map<String, Value>, namespace: Option<&str>) {
    let current = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    match namespace {
        None => {
            metadata.shift_remove("namespace");
        }
        Some(namespace) if current.is_empty() => {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        Some(_) => {}
    }
}

/// Sets an annotation on the object itself.
fn set_annotation(object: &mut Value, name: &str, value: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if !annotations.is_object() {
        *annotations = Value::Object(Map::new());
    }
    if let Value::Object(annotations) = annotations {
        annotations.insert(name.to_owned(), value.into());
    }
}

/// Sets the managed-by label on the object, not in pod templates or selectors; an existing label stays.
fn set_managed_by(metadata: &mut Map<String, Value>) {
    let labels = metadata.entry("labels").or_insert(Value::Null);
    if labels.is_null() {
        *labels = Value::Object(Map::new());
    }
    if let Value::Object(labels) = labels {
        labels.entry(MANAGED_BY_LABEL).or_insert_with(|| "flotilla".into());
    }
}

#[cfg(test)]
mod tests;
