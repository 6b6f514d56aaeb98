//! Values that violate the schema of a chart, with the override or the lock that sets them (G113).

use std::collections::BTreeMap;

use super::ChartRelease;
use crate::model::cluster::Cluster;
use crate::model::values::{LayerValues, ValuesLayer};
use crate::text::finding::Finding;

/// A value that violates the schema.
const SCHEMA_VIOLATION: &str = "G113";
/// Where the common values are in a spec.
const COMMON_VALUES: &str = "/source/values";
/// Most findings that are named, and most clusters that are read for one of them: the texts of all their values are parsed.
const MAX_FINDINGS: usize = 50;
const MAX_CLUSTERS: usize = 4;

impl ChartRelease<'_> {
    /// Adds the origin to violations by values that are not among the common ones. Those have a path there, which leads to the field
    /// of the form.
    pub fn name_origins(&self, findings: &mut [Finding], clusters: &[Cluster]) {
        let mut layers: BTreeMap<&str, Vec<LayerValues>> = BTreeMap::new();
        let violations = findings.iter_mut().filter(|finding| finding.code == SCHEMA_VIOLATION);
        for finding in violations.take(MAX_FINDINGS) {
            let Some(pointer) = finding.path.strip_prefix(COMMON_VALUES) else { continue };
            let named = clusters.iter().filter(|cluster| finding.clusters.contains(&cluster.name));
            let mut origins = named.take(MAX_CLUSTERS).map(|cluster| {
                let own = layers.entry(&cluster.name).or_insert_with(|| self.written_layers(cluster));
                find_origin(own, pointer)
            });
            let Some(Some(origin)) = origins.next() else { continue };
            if origins.all(|other| other.as_ref() == Some(&origin)) {
                finding.message = format!("{} {origin}", finding.message);
                finding.path.clear();
            }
        }
    }
}

/// The override or the lock that sets a single value, as a sentence; `None` for one of the common values or of the chart.
fn find_origin(layers: &[LayerValues], pointer: &str) -> Option<String> {
    let mut strongest_first = layers.iter().rev();
    let (layer, value) = strongest_first.find_map(|one| Some((&one.layer, one.values.pointer(pointer)?)))?;
    match layer {
        _ if value.is_object() => None,
        ValuesLayer::Override { name, .. } => Some(format!("Override {name} sets it.")),
        layer => layer.lock_owner().map(|owner| format!("{owner} locks it.")),
    }
}
