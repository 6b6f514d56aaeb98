//! Provenance: the layers that set each leaf (E-8), and conflicts of overrides with equal precedence (G508).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::target::ApplicableOverride;
use super::touched_paths::find_leaves;
use crate::kubernetes::field_path::FieldPath;
use crate::kubernetes::object::object_ref;
use crate::text::finding::Finding;
use crate::text::secret_text::contains_secret;

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ProvenanceLayer {
    /// The source.
    Base,
    /// An override.
    Override {
        /// Its name.
        name: String,
    },
}

/// The layers that set a leaf, the effective one first: "replicas 5 ← prod-eu, 3 ← eu, 2 ← base".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Position of the object in the source.
    pub object: u32,
    /// Path of the leaf, list items named where they have names: `/spec/template/spec/containers[name=web]/image`.
    pub path: String,
    /// The layers that set it, the effective one first.
    pub layers: Vec<ProvenanceLayer>,
    /// The value of the leaf after each of these layers, in the same order; `None` where the layer removed it.
    /// Values of a Secret are confidential.
    #[serde(default)]
    pub values: Vec<Option<Value>>,
}

/// One object with its changes by layer.
pub(super) struct ObjectHistory<'a> {
    /// Position in the source.
    pub position: u32,
    pub base: &'a Value,
    /// The changes by the layers that touched it, lowest precedence first.
    pub changes: Vec<LayerChange>,
}

/// The change of one object by one layer.
pub(super) struct LayerChange {
    /// Index of the layer.
    pub layer: usize,
    pub paths: BTreeSet<FieldPath>,
    pub after: Value,
}

/// The value of one leaf after one layer.
struct LeafValue<'a> {
    layer: usize,
    value: Option<&'a Value>,
}

impl ObjectHistory<'_> {
    /// The object after the layers so far.
    pub fn current(&self) -> &Value {
        self.changes.last().map_or(self.base, |step| &step.after)
    }

    /// Provenance of every leaf that a layer set, in the order of paths; and conflicts between layers.
    pub fn collect_provenance(
        &self,
        layers: &[ApplicableOverride<'_>],
        cluster: &str,
    ) -> (Vec<Provenance>, Vec<Finding>) {
        let mut provenance = Vec::new();
        let mut findings = Vec::new();
        for path in self.touched_leaves() {
            let settings = self.layer_values(&path);
            if settings.is_empty() {
                continue;
            }
            findings.extend(self.find_conflict(&path, &settings, layers, cluster));
            provenance.push(self.leaf_provenance(&path, &settings, layers));
        }
        (provenance, findings)
    }

    /// The leaves that any layer touched, and removed leaves at or below the touched paths.
    fn touched_leaves(&self) -> BTreeSet<FieldPath> {
        let mut all = BTreeSet::new();
        let mut removed = BTreeSet::new();
        let mut before = self.base;
        for step in &self.changes {
            for path in &step.paths {
                all.extend(find_leaves(self.current(), path));
                let existing = find_leaves(before, path).into_iter().chain([path.clone()]);
                removed.extend(existing.filter(|path| path.get(self.current()).is_none()));
            }
            before = &step.after;
        }
        // The container of the last removed item is now an empty leaf itself.
        for path in &removed {
            let ancestors = (0..path.0.len()).rev().map(|n| FieldPath(path.0[..n].to_vec()));
            let container = ancestors.into_iter().find(|container| container.get(self.current()).is_some());
            all.extend(
                container.filter(|container| find_leaves(self.current(), container) == [container.clone()]),
            );
        }
        // A removed map is one leaf; its fields are not listed.
        let is_inside =
            |path: &FieldPath| (0..path.0.len()).any(|n| removed.contains(&FieldPath(path.0[..n].to_vec())));
        all.extend(removed.iter().filter(|path| !is_inside(path)).cloned());
        all
    }

    /// The layers that set this leaf, lowest precedence first.
    fn layer_values(&self, path: &FieldPath) -> Vec<LeafValue<'_>> {
        let mut before = path.get(self.base);
        let mut settings = Vec::new();
        for step in &self.changes {
            let value = path.get(&step.after);
            if is_leaf_touched(&step.paths, path) && (before.is_some() || value.is_some()) {
                settings.push(LeafValue { layer: step.layer, value });
            }
            before = value;
        }
        settings
    }

    fn leaf_provenance(
        &self,
        path: &FieldPath,
        settings: &[LeafValue<'_>],
        layers: &[ApplicableOverride<'_>],
    ) -> Provenance {
        let named = |setting: &LeafValue<'_>| ProvenanceLayer::Override {
            name: layers[setting.layer].over.name.clone(),
        };
        let base = path.get(self.base);
        Provenance {
            object: self.position,
            path: path.to_string(),
            layers: settings.iter().rev().map(named).chain(base.map(|_| ProvenanceLayer::Base)).collect(),
            values: settings
                .iter()
                .rev()
                .map(|setting| setting.value.cloned())
                .chain(base.map(|base| Some(base.clone())))
                .collect(),
        }
    }

    /// G508: the effective override and another one of equal precedence set different values.
    fn find_conflict(
        &self,
        path: &FieldPath,
        settings: &[LeafValue<'_>],
        layers: &[ApplicableOverride<'_>],
        cluster: &str,
    ) -> Option<Finding> {
        let (winner, others) = settings.split_last()?;
        let same = |other: &&LeafValue<'_>| layers[other.layer].precedence == layers[winner.layer].precedence;
        let loser = others.iter().rev().find(same).filter(|loser| loser.value != winner.value)?;
        let (loser_name, winner_name) = (&layers[loser.layer].over.name, &layers[winner.layer].over.name);
        let object = object_ref(self.base);
        // Messages are logged and mailed, so they contain no values of a Secret.
        let values = match object.kind.as_str() {
            "Secret" => String::new(),
            _ if contains_secret(self.base) => String::new(),
            _ => format!(" ({} and {})", format_short(loser.value), format_short(winner.value)),
        };
        Some(
            Finding::warning(
                "G508",
                format!(
                    "Overrides {loser_name:?} and {winner_name:?} both set {path}{values}. \
                     {winner_name:?} takes precedence by order of names."
                ),
                "Set different priorities to make the precedence explicit.",
            )
            .with_object(object.to_string())
            .with_path(path.to_string())
            .with_clusters(vec![cluster.to_owned()]),
        )
    }
}

/// Whether one of the paths is the leaf, contains it, or is inside it.
fn is_leaf_touched(paths: &BTreeSet<FieldPath>, leaf: &FieldPath) -> bool {
    let above = (0..=leaf.0.len()).any(|n| paths.contains(&FieldPath(leaf.0[..n].to_vec())));
    // Paths sort lexicographically: everything inside the leaf follows it directly.
    above || paths.range(leaf.clone()..).next().is_some_and(|next| leaf.is_prefix_of(next))
}

/// A value as messages display it: truncated to 40 characters.
pub(super) fn format_short(value: Option<&Value>) -> String {
    const LONGEST: usize = 40;
    let Some(value) = value else {
        return "removed".to_owned();
    };
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
