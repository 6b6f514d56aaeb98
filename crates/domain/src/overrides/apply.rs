//! Overrides applied to the objects of a bundle.

use std::collections::BTreeSet;

use serde_json::Value;

use super::provenance::{History, Provenance, Touch, short};
use super::target::{Applying, applying};
use super::touched::touched;
use super::{ObjectSelector, Override, Patch, PatchOp, identity, patch};
use crate::bundle::object_ref;
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::path::Path;
use crate::placement::ClusterGroup;

/// The objects of one cluster with their overrides, and who set what.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// The objects, in the order given.
    pub objects: Vec<Value>,
    /// Leaves that an override set, by object and path. Every other leaf comes from the source.
    pub provenance: Vec<Provenance>,
    /// What is wrong with the overrides on this cluster (G507 … G510).
    pub findings: Vec<Finding>,
}

/// Applies the overrides that are for `cluster` to `objects`: groups before selectors before named clusters, then by
/// priority, then by name; the last one wins. A patch that can't be done is left out and told (G507).
pub fn effective(
    objects: &[Value],
    overrides: &[Override],
    cluster: &Cluster,
    groups: &[ClusterGroup],
) -> Effective {
    let layers = applying(overrides, cluster, groups);
    let mut histories: Vec<History<'_>> =
        (0..).zip(objects).map(|(position, base)| History { position, base, steps: Vec::new() }).collect();
    let mut result = Effective::default();
    for (at, layer) in layers.iter().enumerate() {
        apply_layer(at, layer, &mut histories, &cluster.name, &mut result.findings);
    }
    for history in histories {
        let (provenance, findings) = history.tell(&layers, &cluster.name);
        result.provenance.extend(provenance);
        result.findings.extend(findings);
        result.objects.push(history.now().clone());
    }
    result
}

fn apply_layer(
    at: usize,
    layer: &Applying<'_>,
    histories: &mut [History<'_>],
    cluster: &str,
    findings: &mut Vec<Finding>,
) {
    let name = &layer.over.name;
    // What the layer has done to each object so far.
    let mut done: Vec<Option<Touch>> = histories.iter().map(|_| None).collect();
    for patch in &layer.over.patches {
        // A path that can't be read is told by `check`, which needs no cluster.
        let Ok(path) = path_of(&patch.op) else { continue };
        let tried = apply_patch(at, (patch, &path), histories, &mut done);
        findings.extend(tried.into_finding(name, cluster, patch, histories));
    }
    for (history, touch) in histories.iter_mut().zip(done) {
        if let Some(touch) = touch {
            findings.extend(identity::broken(name, cluster, history.now(), &touch.after));
            history.steps.push(touch);
        }
    }
}

/// What became of one patch over all objects.
#[derive(Default)]
struct Tried {
    /// Positions of the objects it is for.
    matched: usize,
    changed: bool,
    /// Position of the first object on which it can't be done, and why.
    miss: Option<(usize, patch::Miss)>,
    /// What it found there already: position and value.
    already: Option<(usize, Option<Value>)>,
}

fn apply_patch(
    layer: usize,
    (patch, path): (&Patch, &Path),
    histories: &[History<'_>],
    done: &mut [Option<Touch>],
) -> Tried {
    let mut tried = Tried::default();
    for (position, (history, touch)) in histories.iter().zip(done).enumerate() {
        let before = touch.as_ref().map_or_else(|| history.now(), |touch| &touch.after);
        if !patch.object.matches(before) {
            continue;
        }
        tried.matched += 1;
        let after = match patch::apply(before, &patch.op, path) {
            Ok(after) => after,
            Err(miss) => {
                tried.miss.get_or_insert((position, miss));
                continue;
            }
        };
        if after == *before {
            tried.already.get_or_insert_with(|| (position, path.get(&after).cloned()));
        } else {
            tried.changed = true;
        }
        let paths = touched(&patch.op, path, before, &after);
        let touch = touch.get_or_insert_with(|| Touch { layer, paths: BTreeSet::new(), after: Value::Null });
        touch.paths.extend(paths);
        touch.after = after;
    }
    tried
}

impl Tried {
    fn into_finding(
        self,
        name: &str,
        cluster: &str,
        patch: &Patch,
        histories: &[History<'_>],
    ) -> Option<Finding> {
        let path = raw_path(&patch.op);
        let about = |position: usize| object_ref(histories[position].base);
        let finding = match self {
            Self { miss: Some((at, miss)), .. } => {
                let message = format!("Override {name:?}: {path} of {}: {}.", about(at), miss.why);
                Finding::error("G507", message, miss.hint).about(about(at).to_string())
            }
            Self { matched: 0, .. } if !histories.is_empty() => Finding::error(
                "G507",
                format!("Override {name:?} is for {}, and the source has no such object.", patch.object),
                "Check kind, name and namespace against the objects of the source.",
            ),
            Self { changed: false, already: Some((at, value)), .. } => {
                let object = about(at);
                let already = match (&patch.op, object.kind.as_str()) {
                    (PatchOp::Set { .. }, kind) if kind != "Secret" => {
                        format!("{path} of {object} is {} already", short(value.as_ref()))
                    }
                    _ => format!("{object} is like that already"),
                };
                Finding::warning(
                    "G509",
                    format!("Override {name:?} changes nothing: {already}."),
                    "Remove the patch, or set another value.",
                )
                .about(object.to_string())
            }
            _ => return None,
        };
        Some(finding.at(path).on(vec![cluster.to_owned()]))
    }
}

impl ObjectSelector {
    /// Whether the object is one of those selected.
    pub fn matches(&self, object: &Value) -> bool {
        let is = |wanted: &str, pointer: &str| {
            wanted.is_empty() || object.pointer(pointer).and_then(Value::as_str) == Some(wanted)
        };
        is(&self.kind, "/kind")
            && is(&self.name, "/metadata/name")
            && is(&self.namespace, "/metadata/namespace")
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

/// The path of a patch.
pub(super) fn path_of(op: &PatchOp) -> Result<Path, crate::path::BadPath> {
    raw_path(op).parse()
}
