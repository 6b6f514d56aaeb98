//! Provenance: for every leaf that an override set, who set it (E-8), and where two of one strength disagree (G508).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::target::Applying;
use super::touched::leaves;
use crate::bundle::object_ref;
use crate::finding::Finding;
use crate::path::Path;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Layer {
    /// The source.
    Base,
    /// An override.
    Override {
        /// Its name.
        name: String,
    },
}

/// Who set a leaf, winner first: "replicas 5 ← prod-eu, 3 ← eu, 2 ← base".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Position of the object in the source.
    pub object: u32,
    /// Path of the leaf, list items named where they have names: `/spec/template/spec/containers[name=web]/image`.
    pub path: String,
    /// The layers that set it, the effective one first.
    pub layers: Vec<Layer>,
    /// What the leaf was after each of these layers, in the same order; `None` where the layer removed it.
    /// Of a Secret these are secret.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Option<Object>>))]
    pub values: Vec<Option<Value>>,
}

/// One object on its way through the layers.
pub(super) struct History<'a> {
    /// Position in the source.
    pub position: u32,
    pub base: &'a Value,
    /// The layers that touched it, weakest first.
    pub steps: Vec<Touch>,
}

/// What one layer did to one object.
pub(super) struct Touch {
    /// Index of the layer.
    pub layer: usize,
    pub paths: BTreeSet<Path>,
    pub after: Value,
}

/// What one layer made of one leaf.
struct Setting<'a> {
    layer: usize,
    value: Option<&'a Value>,
}

impl History<'_> {
    /// The object as the layers so far have made it.
    pub fn now(&self) -> &Value {
        self.steps.last().map_or(self.base, |step| &step.after)
    }

    /// Provenance of every leaf that a layer set, in the order of paths; and what the layers disagree about.
    pub fn tell(&self, layers: &[Applying<'_>], cluster: &str) -> (Vec<Provenance>, Vec<Finding>) {
        let mut provenance = Vec::new();
        let mut findings = Vec::new();
        for path in self.leaves() {
            let settings = self.settings(&path);
            if settings.is_empty() {
                continue;
            }
            findings.extend(self.disagreement(&path, &settings, layers, cluster));
            provenance.push(self.chain(&path, &settings, layers));
        }
        (provenance, findings)
    }

    /// The leaves that any layer touched, and what was at or below the touched paths and is gone.
    fn leaves(&self) -> BTreeSet<Path> {
        let mut all = BTreeSet::new();
        let mut gone = BTreeSet::new();
        let mut before = self.base;
        for step in &self.steps {
            for path in &step.paths {
                all.extend(leaves(self.now(), path));
                let was = leaves(before, path).into_iter().chain([path.clone()]);
                gone.extend(was.filter(|path| path.get(self.now()).is_none()));
            }
            before = &step.after;
        }
        // What held the last thing that went is now an empty leaf itself.
        for path in &gone {
            let around = (0..path.0.len()).rev().map(|n| Path(path.0[..n].to_vec()));
            let holder = around.into_iter().find(|holder| holder.get(self.now()).is_some());
            all.extend(holder.filter(|holder| leaves(self.now(), holder) == [holder.clone()]));
        }
        // Of a removed map, the map is told and not again every field that was in it.
        let inside = |path: &Path| (0..path.0.len()).any(|n| gone.contains(&Path(path.0[..n].to_vec())));
        all.extend(gone.iter().filter(|path| !inside(path)).cloned());
        all
    }

    /// The layers that set this leaf, weakest first.
    fn settings(&self, path: &Path) -> Vec<Setting<'_>> {
        let mut before = path.get(self.base);
        let mut settings = Vec::new();
        for step in &self.steps {
            let value = path.get(&step.after);
            if touches(&step.paths, path) && (before.is_some() || value.is_some()) {
                settings.push(Setting { layer: step.layer, value });
            }
            before = value;
        }
        settings
    }

    fn chain(&self, path: &Path, settings: &[Setting<'_>], layers: &[Applying<'_>]) -> Provenance {
        let named = |setting: &Setting<'_>| Layer::Override { name: layers[setting.layer].over.name.clone() };
        let base = path.get(self.base);
        Provenance {
            object: self.position,
            path: path.to_string(),
            layers: settings.iter().rev().map(named).chain(base.map(|_| Layer::Base)).collect(),
            values: settings
                .iter()
                .rev()
                .map(|setting| setting.value.cloned())
                .chain(base.map(|base| Some(base.clone())))
                .collect(),
        }
    }

    /// G508: the winner and another override of the same strength want different values.
    fn disagreement(
        &self,
        path: &Path,
        settings: &[Setting<'_>],
        layers: &[Applying<'_>],
        cluster: &str,
    ) -> Option<Finding> {
        let (winner, others) = settings.split_last()?;
        let same = |other: &&Setting<'_>| layers[other.layer].strength == layers[winner.layer].strength;
        let loser = others.iter().rev().find(same).filter(|loser| loser.value != winner.value)?;
        let (loses, wins) = (&layers[loser.layer].over.name, &layers[winner.layer].over.name);
        let object = object_ref(self.base);
        // Messages are logged and mailed; what a Secret holds is not for them.
        let values = match object.kind.as_str() {
            "Secret" => String::new(),
            _ => format!(" ({} and {})", short(loser.value), short(winner.value)),
        };
        Some(
            Finding::warning(
                "G508",
                format!("{loses:?} and {wins:?} both set {path}{values}. {wins:?} wins by order of names."),
                "Set priorities to make plain which one is meant.",
            )
            .about(object.to_string())
            .at(path.to_string())
            .on(vec![cluster.to_owned()]),
        )
    }
}

/// Whether one of the paths leads to the leaf, to what holds it, or into it.
fn touches(paths: &BTreeSet<Path>, leaf: &Path) -> bool {
    let above = (0..=leaf.0.len()).any(|n| paths.contains(&Path(leaf.0[..n].to_vec())));
    // Paths sort like words: everything inside the leaf follows it directly.
    above || paths.range(leaf.clone()..).next().is_some_and(|next| leaf.holds(next))
}

/// A value as a message shows it.
pub(super) fn short(value: Option<&Value>) -> String {
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
