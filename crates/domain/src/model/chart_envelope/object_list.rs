//! The objects beside the one with the chart: those that it refers to, and those that a source with a chart can't have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::object_reader::describe_object;
use super::{FieldNotCarried, MAX_NOT_CARRIED, group_of};

/// The objects of the files, and which of them were used.
pub(super) struct ObjectList<'a> {
    objects: Vec<&'a Value>,
    used: BTreeSet<usize>,
}

impl<'a> ObjectList<'a> {
    /// The objects, of which the one at `at` has the chart.
    pub(super) fn new(objects: Vec<&'a Value>, at: usize) -> Self {
        Self { objects, used: BTreeSet::from([at]) }
    }

    /// The object of this group, kind and name, in this namespace if both name one.
    pub(super) fn find(
        &mut self,
        (group, kind): (&str, &str),
        (namespace, name): (&str, &str),
    ) -> Option<&'a Value> {
        let is_it = |object: &&Value| {
            let own = object["metadata"]["namespace"].as_str().unwrap_or_default();
            group_of(object) == group
                && object["kind"] == kind
                && object["metadata"]["name"] == name
                && (own == namespace || own.is_empty() || namespace.is_empty())
        };
        let at = self.objects.iter().position(is_it)?;
        self.used.insert(at);
        Some(self.objects[at])
    }

    /// The objects that were not used. `namespace` is that of the workload.
    pub(super) fn list_not_carried(&self, namespace: &str) -> Vec<FieldNotCarried> {
        let unused = self.objects.iter().enumerate().filter(|(at, _)| !self.used.contains(at));
        unused
            .take(MAX_NOT_CARRIED + 1)
            .map(|(_, object)| {
                let is_namespace = object["kind"] == "Namespace" && object["metadata"]["name"] == namespace;
                let reason = if is_namespace {
                    "The policy createNamespace creates the namespace, without labels and annotations of its own."
                } else {
                    "A workload with a chart has no files beside it: move the object into another workload."
                };
                let (object, path) = (describe_object(object), String::new());
                FieldNotCarried { object, path, reason: reason.to_owned() }
            })
            .collect()
    }
}
