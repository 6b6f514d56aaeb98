//! Input of the rules: the objects with their full names, and their pod templates.

use std::collections::HashMap;

use serde_json::Value;

use crate::evaluation::render::scope::KindScopes;
use crate::kubernetes::object::ObjectRef;
use crate::model::workload::WorkloadSpec;
use crate::text::finding::{Finding, Severity};
use crate::text::manifest::{Manifest, ParsedManifests};

/// One object, with its name after the workload's namespace is set.
pub(super) struct RuleObject<'a> {
    pub manifest: &'a Manifest,
    pub name: ObjectRef,
    /// `Kind namespace/name`.
    pub display_name: String,
}

/// The objects of a source.
pub(super) fn rule_objects<'a>(spec: &WorkloadSpec, parsed: &'a ParsedManifests) -> Vec<RuleObject<'a>> {
    let scopes = KindScopes::from_objects(parsed.manifests.iter().map(|manifest| &manifest.object), &[]);
    let object = |manifest: &'a Manifest| {
        let mut name = manifest.object_ref();
        if !scopes.is_namespaced(&name.group, &name.kind) {
            name.namespace.clear();
        } else if name.namespace.is_empty() {
            name.namespace.clone_from(&spec.namespace);
        }
        let shown = name.to_string();
        RuleObject { manifest, name, display_name: shown }
    };
    parsed.manifests.iter().map(object).collect()
}

impl<'a> RuleObject<'a> {
    /// Whether it is of this group and kind.
    pub(super) fn is_kind(&self, group: &str, kind: &str) -> bool {
        self.name.group == group && self.name.kind == kind
    }

    /// The value at a pointer, unless it is null.
    pub(super) fn get(&self, pointer: &str) -> Option<&'a Value> {
        self.manifest.object.pointer(pointer).filter(|value| !value.is_null())
    }

    /// The text at a pointer; empty when there is none.
    pub(super) fn text(&self, pointer: &str) -> &'a str {
        self.get(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The items of the list at a pointer.
    pub(super) fn items(&self, pointer: &str) -> &'a [Value] {
        items(self.get(pointer))
    }

    /// A finding at a field of this object.
    pub(super) fn finding(&self, rule: (&str, Severity), path: &str, message: String, hint: &str) -> Finding {
        Finding::new(rule.0, rule.1, message, hint)
            .with_object(self.display_name.as_str())
            .with_path(path)
            .with_location(Some(self.manifest.location_of(path)))
    }

    /// An error at a field of this object.
    pub(super) fn error(&self, code: &str, path: &str, message: String, hint: &str) -> Finding {
        self.finding((code, Severity::Error), path, message, hint)
    }

    /// A warning at a field of this object.
    pub(super) fn warning(&self, code: &str, path: &str, message: String, hint: &str) -> Finding {
        self.finding((code, Severity::Warning), path, message, hint)
    }

    /// A note at a field of this object.
    pub(super) fn note(&self, code: &str, path: &str, message: String, hint: &str) -> Finding {
        self.finding((code, Severity::Note), path, message, hint)
    }
}

/// A pod template, and the object that has it.
pub(super) struct PodTemplate<'a> {
    pub owner: &'a RuleObject<'a>,
    /// JSON pointer of the template; empty for a Pod.
    pub path: &'static str,
    pub labels: Option<&'a Value>,
    pub spec: &'a Value,
    pub containers: Vec<Container<'a>>,
}

/// A container of a pod.
pub(super) struct Container<'a> {
    pub value: &'a Value,
    /// JSON pointer inside the object.
    pub path: String,
    pub name: &'a str,
    /// Whether it must terminate before the other containers start.
    pub is_init: bool,
}

impl<'a> PodTemplate<'a> {
    /// JSON pointer of a field of the pod's spec.
    pub(super) fn spec_pointer(&self, field: &str) -> String {
        format!("{}/spec{field}", self.path)
    }

    /// The label with this key.
    pub(super) fn label(&self, key: &str) -> Option<&'a str> {
        self.labels?.get(key)?.as_str()
    }
}

/// The objects and pods of a workload, indexed by name and label.
pub(super) struct RuleContext<'a> {
    pub spec: &'a WorkloadSpec,
    pub objects: &'a [RuleObject<'a>],
    pub pods: Vec<PodTemplate<'a>>,
    by_name: HashMap<(&'a str, &'a str, &'a str), &'a RuleObject<'a>>,
    /// Pods by namespace and one label.
    by_label: HashMap<(&'a str, &'a str, &'a str), Vec<usize>>,
}

impl<'a> RuleContext<'a> {
    pub(super) fn new(spec: &'a WorkloadSpec, objects: &'a [RuleObject<'a>]) -> Self {
        let pods: Vec<PodTemplate<'a>> = objects.iter().filter_map(pod_template).collect();
        let by_name = objects
            .iter()
            .map(|object| ((&*object.name.kind, &*object.name.namespace, &*object.name.name), object))
            .collect();
        let by_label = index_by_label(&pods);
        Self { spec, objects, pods, by_name, by_label }
    }

    /// The objects of one group and kind.
    pub(super) fn objects_of_kind(
        &self,
        group: &'static str,
        kind: &'static str,
    ) -> impl Iterator<Item = &'a RuleObject<'a>> {
        self.objects.iter().filter(move |object| object.is_kind(group, kind))
    }

    /// The object of this kind and name in the namespace of another object.
    pub(super) fn find_in_namespace(
        &self,
        object: &'a RuleObject<'a>,
        kind: &'a str,
        name: &'a str,
    ) -> Option<&'a RuleObject<'a>> {
        self.by_name.get(&(kind, &*object.name.namespace, name)).copied()
    }

    /// Every container with its pod.
    pub(super) fn containers(&self) -> impl Iterator<Item = (&PodTemplate<'a>, &Container<'a>)> {
        self.pods.iter().flat_map(|pod| pod.containers.iter().map(move |container| (pod, container)))
    }

    /// The pods in the namespace of `object` with all labels of the map `labels`; none for an empty map.
    pub(super) fn select_pods(&self, object: &'a RuleObject<'a>, labels: &'a Value) -> Vec<&PodTemplate<'a>> {
        self.select_pod_indexes(object, labels).into_iter().map(|at| &self.pods[at]).collect()
    }

    /// The indexes of these pods in `pods`.
    pub(super) fn select_pod_indexes(&self, object: &'a RuleObject<'a>, labels: &'a Value) -> Vec<usize> {
        let Some(map) = labels.as_object() else { return Vec::new() };
        let mut pairs = map.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        let Some((key, value)) = pairs.next() else { return Vec::new() };
        let rest: Vec<_> = pairs.collect();
        let candidates = self.by_label.get(&(object.name.namespace.as_str(), key, value));
        let matches = |at: &usize| rest.iter().all(|(key, value)| self.pods[*at].label(key) == Some(value));
        candidates.into_iter().flatten().copied().filter(matches).collect()
    }
}

fn index_by_label<'a>(pods: &[PodTemplate<'a>]) -> HashMap<(&'a str, &'a str, &'a str), Vec<usize>> {
    let mut by_label: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, pod) in pods.iter().enumerate() {
        for (key, value) in pod.labels.and_then(Value::as_object).into_iter().flatten() {
            if let Some(value) = value.as_str() {
                by_label.entry((&*pod.owner.name.namespace, key.as_str(), value)).or_default().push(at);
            }
        }
    }
    by_label
}

/// JSON pointer of the pod template in an object of this kind; empty for a Pod.
pub(super) fn pod_template_pointer(object: &ObjectRef) -> Option<&'static str> {
    match (&*object.group, &*object.kind) {
        ("", "Pod") => Some(""),
        ("apps" | "extensions", "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet")
        | ("", "ReplicationController")
        | ("batch", "Job") => Some("/spec/template"),
        ("batch", "CronJob") => Some("/spec/jobTemplate/spec/template"),
        _ => None,
    }
}

/// The pod template of an object.
fn pod_template<'a>(owner: &'a RuleObject<'a>) -> Option<PodTemplate<'a>> {
    let path = pod_template_pointer(&owner.name)?;
    let spec = owner.get(&format!("{path}/spec"))?;
    let labels = owner.get(&format!("{path}/metadata/labels"));
    Some(PodTemplate { owner, path, labels, spec, containers: list_containers(spec, path) })
}

pub(super) fn list_containers<'a>(spec: &'a Value, path: &str) -> Vec<Container<'a>> {
    let mut containers = Vec::new();
    for (list, init) in [("initContainers", true), ("containers", false)] {
        for (at, value) in items(spec.get(list)).iter().enumerate() {
            // An init container with restartPolicy Always is a sidecar and runs beside the others.
            let init = init && value["restartPolicy"] != "Always";
            let name = value["name"].as_str().unwrap_or_default();
            containers.push(Container {
                value,
                path: format!("{path}/spec/{list}/{at}"),
                name,
                is_init: init,
            });
        }
    }
    containers
}

/// The items of a list; empty for any other value.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The value of a field that is an integer.
pub(super) fn integer(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_i64)
}

/// Text in quotes, cut to 120 characters for a message.
pub(super) fn quote(text: &str) -> String {
    let clipped: String = text.chars().take(120).collect();
    format!("{clipped:?}")
}
