//! What the rules look at: the objects with their full names, and the pods they would make.

use std::collections::HashMap;

use serde_json::Value;

use crate::finding::{Finding, Severity};
use crate::manifest::{Manifest, Parsed};
use crate::object::ObjectRef;
use crate::render::scope::Scopes;
use crate::workload::WorkloadSpec;

/// One object and what it is called once the workload's namespace is filled in.
pub(super) struct Subject<'a> {
    pub manifest: &'a Manifest,
    pub name: ObjectRef,
    /// `Kind namespace/name`.
    pub shown: String,
}

/// The objects of a source.
pub(super) fn subjects<'a>(spec: &WorkloadSpec, parsed: &'a Parsed) -> Vec<Subject<'a>> {
    let scopes = Scopes::of(parsed.manifests.iter().map(|manifest| &manifest.object), None);
    let subject = |manifest: &'a Manifest| {
        let mut name = manifest.object_ref();
        if !scopes.is_namespaced(&name.group, &name.kind) {
            name.namespace.clear();
        } else if name.namespace.is_empty() {
            name.namespace.clone_from(&spec.namespace);
        }
        let shown = name.to_string();
        Subject { manifest, name, shown }
    };
    parsed.manifests.iter().map(subject).collect()
}

impl<'a> Subject<'a> {
    /// Whether it is of this group and kind.
    pub(super) fn is(&self, group: &str, kind: &str) -> bool {
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
            .about(self.shown.as_str())
            .at(path)
            .placed(Some(self.manifest.place_of(path)))
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
pub(super) struct Pod<'a> {
    pub owner: &'a Subject<'a>,
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
    /// Whether it runs to its end before the others start.
    pub init: bool,
}

impl<'a> Pod<'a> {
    /// JSON pointer of a field of the pod's spec.
    pub(super) fn at(&self, field: &str) -> String {
        format!("{}/spec{field}", self.path)
    }

    /// The label with this key.
    pub(super) fn label(&self, key: &str) -> Option<&'a str> {
        self.labels?.get(key)?.as_str()
    }
}

/// The objects, the pods, and where to find them.
pub(super) struct Scene<'a> {
    pub spec: &'a WorkloadSpec,
    pub objects: &'a [Subject<'a>],
    pub pods: Vec<Pod<'a>>,
    by_name: HashMap<(&'a str, &'a str, &'a str), &'a Subject<'a>>,
    /// Pods by namespace and one label.
    by_label: HashMap<(&'a str, &'a str, &'a str), Vec<usize>>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(spec: &'a WorkloadSpec, objects: &'a [Subject<'a>]) -> Self {
        let pods: Vec<Pod<'a>> = objects.iter().filter_map(pod).collect();
        let by_name = objects
            .iter()
            .map(|subject| ((&*subject.name.kind, &*subject.name.namespace, &*subject.name.name), subject))
            .collect();
        let by_label = by_label(&pods);
        Self { spec, objects, pods, by_name, by_label }
    }

    /// The objects of one group and kind.
    pub(super) fn of(
        &self,
        group: &'static str,
        kind: &'static str,
    ) -> impl Iterator<Item = &'a Subject<'a>> {
        self.objects.iter().filter(move |subject| subject.is(group, kind))
    }

    /// The object of this kind and name beside another, in its namespace.
    pub(super) fn beside(
        &self,
        subject: &'a Subject<'a>,
        kind: &'a str,
        name: &'a str,
    ) -> Option<&'a Subject<'a>> {
        self.by_name.get(&(kind, &*subject.name.namespace, name)).copied()
    }

    /// Every container with its pod.
    pub(super) fn containers(&self) -> impl Iterator<Item = (&Pod<'a>, &Container<'a>)> {
        self.pods.iter().flat_map(|pod| pod.containers.iter().map(move |container| (pod, container)))
    }

    /// The pods beside `subject` that carry all labels of the map `wanted`; none for an empty map.
    pub(super) fn selected(&self, subject: &'a Subject<'a>, wanted: &'a Value) -> Vec<&Pod<'a>> {
        self.selected_at(subject, wanted).into_iter().map(|at| &self.pods[at]).collect()
    }

    /// The positions of these pods.
    pub(super) fn selected_at(&self, subject: &'a Subject<'a>, wanted: &'a Value) -> Vec<usize> {
        let Some(map) = wanted.as_object() else { return Vec::new() };
        let mut pairs = map.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        let Some((key, value)) = pairs.next() else { return Vec::new() };
        let rest: Vec<_> = pairs.collect();
        let candidates = self.by_label.get(&(subject.name.namespace.as_str(), key, value));
        let matches = |at: &usize| rest.iter().all(|(key, value)| self.pods[*at].label(key) == Some(value));
        candidates.into_iter().flatten().copied().filter(matches).collect()
    }
}

fn by_label<'a>(pods: &[Pod<'a>]) -> HashMap<(&'a str, &'a str, &'a str), Vec<usize>> {
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

/// Where an object of this kind has its pod's template; empty for a Pod.
pub(super) fn template(object: &ObjectRef) -> Option<&'static str> {
    match (&*object.group, &*object.kind) {
        ("", "Pod") => Some(""),
        ("apps" | "extensions", "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet")
        | ("", "ReplicationController")
        | ("batch", "Job") => Some("/spec/template"),
        ("batch", "CronJob") => Some("/spec/jobTemplate/spec/template"),
        _ => None,
    }
}

/// The pod an object would make.
fn pod<'a>(owner: &'a Subject<'a>) -> Option<Pod<'a>> {
    let path = template(&owner.name)?;
    let spec = owner.get(&format!("{path}/spec"))?;
    let labels = owner.get(&format!("{path}/metadata/labels"));
    Some(Pod { owner, path, labels, spec, containers: containers(spec, path) })
}

pub(super) fn containers<'a>(spec: &'a Value, path: &str) -> Vec<Container<'a>> {
    let mut found = Vec::new();
    for (list, init) in [("initContainers", true), ("containers", false)] {
        for (at, value) in items(spec.get(list)).iter().enumerate() {
            // An init container that restarts runs beside the others: a sidecar.
            let init = init && value["restartPolicy"] != "Always";
            let name = value["name"].as_str().unwrap_or_default();
            found.push(Container { value, path: format!("{path}/spec/{list}/{at}"), name, init });
        }
    }
    found
}

/// The items of a list; none for anything else.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The number a field holds, written as a number.
pub(super) fn integer(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_i64)
}

/// Text of unknown length, short enough for a message, in quotes.
pub(super) fn quoted(text: &str) -> String {
    let clipped: String = text.chars().take(120).collect();
    format!("{clipped:?}")
}
