//! Applies overrides to the objects of a bundle.

use std::collections::BTreeSet;

use serde_json::Value;

use super::provenance::{LayerChange, ObjectHistory, Provenance, format_short};
use super::target::{ApplicableOverride, list_applicable};
use super::touched_paths::find_touched_paths;
use super::{ObjectSelector, Override, Patch, PatchOp, identity, patch};
use crate::kubernetes::field_path::FieldPath;
use crate::kubernetes::object::object_ref;
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::text::finding::Finding;
use crate::text::secret_text::contains_secret;

/// The objects of one cluster after its overrides, with provenance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OverrideResult {
    /// The objects, in the order given.
    pub objects: Vec<Value>,
    /// Leaves that an override set, by object and path. Every other leaf comes from the source.
    pub provenance: Vec<Provenance>,
    /// What is wrong with the overrides on this cluster (G507 … G510).
    pub findings: Vec<Finding>,
}

/// Applies the overrides for `cluster` to `objects`: groups before selectors before named clusters, then by priority,
/// then by name; the last one wins. A patch that can't be applied is skipped and reported (G507). `namespace` is that
/// of the workload, which objects without one get later.
pub fn apply_overrides(
    objects: &[Value],
    overrides: &[Override],
    cluster: &Cluster,
    groups: &[ClusterGroup],
    namespace: &str,
) -> OverrideResult {
    let layers = list_applicable(overrides, cluster, groups);
    let mut histories: Vec<ObjectHistory<'_>> = (0..)
        .zip(objects)
        .map(|(position, base)| ObjectHistory { position, base, changes: Vec::new() })
        .collect();
    let mut result = OverrideResult::default();
    for (at, layer) in layers.iter().enumerate() {
        let place = (cluster.name.as_str(), namespace);
        apply_layer((at, layer), &mut histories, place, &mut result.findings);
    }
    for history in histories {
        let (provenance, findings) = history.collect_provenance(&layers, &cluster.name);
        result.provenance.extend(provenance);
        result.findings.extend(findings);
        result.objects.push(history.current().clone());
    }
    result
}

fn apply_layer(
    (at, layer): (usize, &ApplicableOverride<'_>),
    histories: &mut [ObjectHistory<'_>],
    (cluster, namespace): (&str, &str),
    findings: &mut Vec<Finding>,
) {
    let name = &layer.over.name;
    // The changes of the layer so far, per object.
    let mut touches: Vec<Option<LayerChange>> = histories.iter().map(|_| None).collect();
    for patch in &layer.over.patches {
        // A path that can't be parsed is reported by `check`, which needs no cluster.
        let Ok(path) = parse_path(&patch.op) else { continue };
        let result = apply_patch(at, (patch, &path, namespace), histories, &mut touches);
        findings.extend(result.into_finding(name, cluster, patch, histories));
    }
    for (history, touch) in histories.iter_mut().zip(touches) {
        if let Some(touch) = touch {
            findings.extend(identity::check_identity(name, cluster, history.current(), &touch.after));
            history.changes.push(touch);
        }
    }
}

/// The result of one patch on all objects.
#[derive(Default)]
struct PatchResult {
    /// Number of objects that it matches.
    matched: usize,
    changed: bool,
    /// Position of the first object on which it can't be applied, and why.
    error: Option<(usize, patch::PatchError)>,
    /// Position and value of the first object that had the value already.
    already_set: Option<(usize, Option<Value>)>,
}

fn apply_patch(
    layer: usize,
    (patch, path, namespace): (&Patch, &FieldPath, &str),
    histories: &[ObjectHistory<'_>],
    touches: &mut [Option<LayerChange>],
) -> PatchResult {
    let mut result = PatchResult::default();
    for (position, (history, touch)) in histories.iter().zip(touches).enumerate() {
        let before = touch.as_ref().map_or_else(|| history.current(), |touch| &touch.after);
        if !patch.object.matches(before, namespace) {
            continue;
        }
        result.matched += 1;
        let after = match patch::apply(before, &patch.op, path) {
            Ok(after) => after,
            Err(error) => {
                result.error.get_or_insert((position, error));
                continue;
            }
        };
        if after == *before {
            result.already_set.get_or_insert_with(|| (position, path.get(&after).cloned()));
        } else {
            result.changed = true;
        }
        let paths = find_touched_paths(&patch.op, path, before, &after);
        let touch =
            touch.get_or_insert_with(|| LayerChange { layer, paths: BTreeSet::new(), after: Value::Null });
        touch.paths.extend(paths);
        touch.after = after;
    }
    result
}

impl PatchResult {
    fn into_finding(
        self,
        name: &str,
        cluster: &str,
        patch: &Patch,
        histories: &[ObjectHistory<'_>],
    ) -> Option<Finding> {
        let path = raw_path(&patch.op);
        let about = |position: usize| object_ref(histories[position].base);
        let finding = match self {
            Self { error: Some((at, error)), .. } => {
                let message = format!("Override {name:?}: {path} of {}: {}.", about(at), error.message);
                Finding::error("G507", message, error.hint).with_object(about(at).to_string())
            }
            Self { matched: 0, .. } if !histories.is_empty() => Finding::error(
                "G507",
                format!("Override {name:?} changes {}, but the source has no such object.", patch.object),
                "Check kind, name and namespace against the objects of the source.",
            ),
            Self { changed: false, already_set: Some((at, value)), .. } => {
                let object = about(at);
                let already = match (&patch.op, object.kind.as_str()) {
                    (PatchOp::Set { .. }, kind)
                        if kind != "Secret" && !contains_secret(histories[at].base) =>
                    {
                        format!("{path} of {object} is already {}", format_short(value.as_ref()))
                    }
                    _ => format!("{object} already has these values"),
                };
                Finding::warning(
                    "G509",
                    format!("Override {name:?} changes nothing: {already}."),
                    "Remove the patch, or set another value.",
                )
                .with_object(object.to_string())
            }
            _ => return None,
        };
        Some(finding.with_path(path).with_clusters(vec![cluster.to_owned()]))
    }
}

impl ObjectSelector {
    /// Whether the object of a source is one of those selected. One that is named with the namespace of the workload is also the one without
    /// a namespace, as clusters have it later: so it is named by what they report.
    pub fn matches(&self, object: &Value, namespace: &str) -> bool {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let is_named = !self.kind.is_empty() && !self.name.is_empty();
        let own = match text("/metadata/namespace") {
            "" if is_named => namespace,
            own => own,
        };
        self.matches_parts(text("/kind"), text("/metadata/name"), own)
    }
}

impl std::fmt::Display for ObjectSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.kind.is_empty() { "objects" } else { &self.kind })?;
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => Ok(()),
            ("", name) => write!(f, " {name}"),
            (namespace, "") => write!(f, " in namespace {namespace}"),
            (namespace, name) => write!(f, " {namespace}/{name}"),
        }
    }
}

/// The path of a patch as it was written; empty for a merge.
pub(super) fn raw_path(op: &PatchOp) -> &str {
    match op {
        PatchOp::Merge { .. } => "",
        PatchOp::Set { path, .. } | PatchOp::Remove { path } => path,
    }
}

/// Parses the path of a patch.
pub(super) fn parse_path(op: &PatchOp) -> Result<FieldPath, crate::kubernetes::field_path::InvalidFieldPath> {
    raw_path(op).parse()
}
