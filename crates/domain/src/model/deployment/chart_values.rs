//! The values of a deployment: how a request changes those of a workload (S1-11, S1-18).

use std::collections::BTreeMap;

use serde_json::Value;

use super::ChartValues;
use crate::kubernetes::field_path::{FieldPath, PathSegment};
use crate::kubernetes::id::OverrideId;
use crate::model::overrides::{ClusterSelector, Override};
use crate::model::source::Source;
use crate::model::values::merge_values;
use crate::model::workload::WorkloadSpec;
use crate::text::manifest::yaml_value;
use crate::text::yaml_edit::{self, EditBudget};

/// Priority of the override that a request for one cluster creates: above those that people create by default.
pub const OVERRIDE_PRIORITY: u32 = 900;

/// The values of a request.
#[derive(Debug, Clone, Copy)]
pub struct ValuesUpdate<'a> {
    /// The common values.
    pub values: &'a ChartValues,
    /// Values by name of the cluster.
    pub overrides: &'a BTreeMap<String, ChartValues>,
    /// Whether they are merged over the stored ones; otherwise they replace them, and a cluster without values in the
    /// request loses its stored ones.
    pub reuse_values: bool,
}

impl ValuesUpdate<'_> {
    /// Changes the values of a spec whose source is a chart. Comments stay where values are merged. What an override for one
    /// cluster has beside values, such as patches, stays; `next_id` gives the id of a new override.
    pub fn apply(&self, spec: &mut WorkloadSpec, mut next_id: impl FnMut() -> OverrideId) {
        let mut budget = EditBudget::default();
        if let Source::Chart(source) = &mut spec.source {
            source.values = if self.reuse_values {
                merge_into_text(&source.values, self.values, &mut budget)
            } else {
                format_values(self.values)
            };
        }
        if !self.reuse_values {
            for over in spec.overrides.iter_mut().filter(|over| cluster_of(over).is_some()) {
                over.values.clear();
            }
        }
        for (cluster, values) in self.overrides {
            let found = spec.overrides.iter_mut().filter(|over| cluster_of(over) == Some(cluster));
            match found.max_by_key(|over| over.priority) {
                Some(over) => over.values = merge_into_text(&over.values, values, &mut budget),
                None => spec.overrides.push(Override {
                    id: next_id(),
                    name: format!("values-{cluster}"),
                    target: ClusterSelector { clusters: vec![cluster.clone()], ..ClusterSelector::default() },
                    priority: OVERRIDE_PRIORITY,
                    values: format_values(values),
                    patches: Vec::new(),
                }),
            }
        }
        spec.overrides.retain(|over| {
            cluster_of(over).is_none() || !over.values.trim().is_empty() || !over.patches.is_empty()
        });
    }
}

/// The only cluster that an override applies to, by name.
fn cluster_of(over: &Override) -> Option<&str> {
    let [cluster] = over.target.clusters.as_slice() else { return None };
    (over.target.groups.is_empty() && !over.target.has_selector()).then_some(cluster)
}

/// The values for single clusters, by name. Of several overrides for a cluster, the one with the higher priority wins.
pub fn list_value_overrides(spec: &WorkloadSpec) -> BTreeMap<String, ChartValues> {
    let mut ordered: Vec<&Override> = spec.overrides.iter().collect();
    ordered.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
    let mut found = BTreeMap::new();
    for over in ordered {
        if let Some(cluster) = cluster_of(over)
            && !over.values.trim().is_empty()
        {
            let all: &mut Value =
                found.entry(cluster.to_owned()).or_insert_with(|| ChartValues::new().into());
            merge_values(all, &read_chart_values(&over.values).into());
        }
    }
    let into_map = |value| if let Value::Object(map) = value { map } else { ChartValues::new() };
    found.into_iter().map(|(cluster, value)| (cluster, into_map(value))).collect()
}

/// The values of a text; none of one that the checks reject.
pub fn read_chart_values(text: &str) -> ChartValues {
    match yaml_value::read(text) {
        Ok(Some(Value::Object(map))) => map,
        _ => ChartValues::new(),
    }
}

fn format_values(values: &ChartValues) -> String {
    if values.is_empty() {
        String::new()
    } else {
        yaml_edit::add_document("", &Value::Object(values.clone()))
    }
}

/// Merges values into a text. Where its notation can't be edited in place, or the budget has not an edit for each value, the text is
/// written again, without its comments.
fn merge_into_text(text: &str, over: &ChartValues, budget: &mut EditBudget) -> String {
    let base = read_chart_values(text);
    if base.is_empty() && text.trim().is_empty() {
        return format_values(over);
    }
    let length = text.len().saturating_add(format_values(over).len());
    if budget.charge(length, count_leaves(over)) {
        let mut edited = text.to_owned();
        let path = FieldPath::default();
        if set_leaves(&mut edited, &path, Some(&Value::Object(base.clone())), over).is_some() {
            return edited;
        }
    }
    let mut merged = Value::Object(base);
    merge_values(&mut merged, &Value::Object(over.clone()));
    yaml_edit::add_document("", &merged)
}

/// How many values [`set_leaves`] sets at most.
fn count_leaves(over: &ChartValues) -> usize {
    let count = |value: &Value| match value {
        Value::Object(map) => count_leaves(map).max(1),
        _ => 1,
    };
    over.values().map(count).sum()
}

/// Sets every leaf of `over` that differs; `None` if the text can't be edited.
fn set_leaves(text: &mut String, path: &FieldPath, base: Option<&Value>, over: &ChartValues) -> Option<()> {
    for (key, value) in over {
        let path = path.with_segment(PathSegment::Key(key.clone()));
        let old = base.and_then(|base| base.get(key));
        match (old, value) {
            (Some(old @ Value::Object(_)), Value::Object(map)) => set_leaves(text, &path, Some(old), map)?,
            _ => *text = yaml_edit::set(text, 0, &path, value).ok()?,
        }
    }
    Some(())
}
