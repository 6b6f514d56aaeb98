//! Values of charts: merged in layers, with the layers that set each leaf (S1-11, E-8).
//!
//! The order is: the defaults of the chart, the common values of the workload, then the overrides for the cluster in their
//! order of precedence. Maps are merged, lists and scalars replaced. A `null` is not a deletion here: it reaches Helm, which
//! then removes the default of the chart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kubernetes::field_path::escape_pointer_token;
use crate::model::overrides::Specificity;
use crate::text::finding::Finding;
use crate::text::manifest::LIMIT_EXCEEDED;

/// Most bytes that the paths of all leaves have together: each repeats the keys above it.
const MAX_PATH_BYTES: usize = 8 << 20;
/// Most violations of the locks of one group that are listed; one already rejects the values.
const MAX_VIOLATIONS: usize = 100;

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ValuesLayer {
    /// The default of the chart.
    ChartDefault,
    /// The common values of the workload.
    Common,
    /// A cluster group locks it: nothing else can set it there.
    #[serde(rename = "locked")]
    LockedByGroup {
        /// Name of the group.
        group: String,
    },
    /// The project locks it: nothing else can set it on any cluster.
    LockedByProject {
        /// Name of the project.
        project: String,
    },
    /// An override.
    Override {
        /// Its name.
        name: String,
        /// Why it applies to the cluster.
        specificity: Specificity,
    },
}

impl ValuesLayer {
    /// Who locks the values of this layer, such as `Group prod`; `None` for one without a lock.
    pub fn lock_owner(&self) -> Option<String> {
        match self {
            Self::LockedByGroup { group } => Some(format!("Group {group}")),
            Self::LockedByProject { project } => Some(format!("Project {project}")),
            Self::ChartDefault | Self::Common | Self::Override { .. } => None,
        }
    }
}

impl std::fmt::Display for ValuesLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ChartDefault => f.write_str("chart default"),
            Self::Common => f.write_str("common"),
            Self::LockedByGroup { group } => write!(f, "locked by group {group}"),
            Self::LockedByProject { project } => write!(f, "locked by project {project}"),
            Self::Override { name, specificity } => write!(f, "{} {name}", specificity.as_str()),
        }
    }
}

/// The values of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerValues {
    /// The layer.
    pub layer: ValuesLayer,
    /// Its values; a map.
    pub values: Value,
}

/// A value of a leaf, and the layer that set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValueSetting {
    /// The layer.
    #[serde(flatten)]
    pub layer: ValuesLayer,
    /// The value there; `null` removes the default of the chart.
    pub value: Value,
}

/// A leaf of the effective values: "replicaCount 5 ← cluster prod-eu, 3 ← group eu, 2 ← common".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ValueProvenance {
    /// JSON pointer of the leaf.
    pub path: String,
    /// The layers that set it, the effective one first. Never empty.
    pub settings: Vec<ValueSetting>,
}

/// The values that a chart is rendered with for one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EffectiveValues {
    /// Name of the cluster.
    pub cluster: String,
    /// The values without the defaults of the chart, which Helm adds. They may contain secrets.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub values: Value,
    /// Every leaf with the layers that set it, by path; includes the defaults of the chart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<ValueProvenance>,
}

/// Merges `over` into `base` as Helm merges values files: maps are merged, everything else replaced; `null` stays.
pub fn merge_values(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge_values(base.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (base, over) => base.clone_from(over),
    }
}

/// The effective values: the layers merged, lowest precedence first.
pub fn merge_layers<'a>(layers: impl IntoIterator<Item = &'a LayerValues>) -> Value {
    let mut effective = Value::Object(Map::new());
    for layer in layers {
        if layer.values.is_object() {
            merge_values(&mut effective, &layer.values);
        }
    }
    effective
}

/// A value that a layer sets although a higher one locks it.
#[derive(Debug, Clone, PartialEq)]
pub struct LockViolation {
    /// JSON pointer of the locked value.
    pub path: String,
    /// The locked value.
    pub locked: Value,
    /// The layer that sets another one.
    pub layer: ValuesLayer,
}

/// Where `layers` set something else than `locked`: another value, or no map above it. At most the first 100.
///
/// # Errors
/// The paths of the locked values are too long to be listed (G111).
pub fn find_lock_violations(
    locked: &Value,
    layers: &[LayerValues],
) -> Result<Vec<LockViolation>, Box<Finding>> {
    check_path_bytes(locked)?;
    let mut violations = Vec::new();
    collect_leaves(locked, String::new(), &mut |path, value| {
        let left = MAX_VIOLATIONS.saturating_sub(violations.len());
        let differing =
            layers.iter().filter(|layer| sets_other_value(&layer.values, &path, value)).take(left);
        violations.extend(differing.map(|layer| LockViolation {
            path: path.clone(),
            locked: value.clone(),
            layer: layer.layer.clone(),
        }));
    });
    Ok(violations)
}

fn sets_other_value(values: &Value, path: &str, locked: &Value) -> bool {
    if let Some(value) = values.pointer(path) {
        return value != locked;
    }
    // Something that is no map hides the locked value.
    let parents = path.match_indices('/').skip(1).map(|(at, _)| &path[..at]);
    parents.filter_map(|parent| values.pointer(parent)).any(|parent| !parent.is_object())
}

/// Every leaf of the effective values with the layers that set it, by path. `layers` are in order of precedence, lowest first.
/// Lists are leaves: a layer replaces them as a whole.
///
/// # Errors
/// The paths of the values are too long to be listed (G111).
pub fn trace_values(layers: &[LayerValues]) -> Result<Vec<ValueProvenance>, Box<Finding>> {
    let effective = merge_layers(layers);
    check_path_bytes(&effective)?;
    for layer in layers {
        check_path_bytes(&layer.values)?;
    }
    let mut leaves: BTreeMap<String, Vec<ValueSetting>> = BTreeMap::new();
    collect_leaves(&effective, String::new(), &mut |path, _| {
        leaves.insert(path, Vec::new());
    });
    for layer in layers.iter().rev() {
        collect_leaves(&layer.values, String::new(), &mut |path, value| {
            // What a higher layer replaced by a map, or inside a list or scalar, is no leaf of the effective values.
            if let Some(settings) = leaves.get_mut(&path) {
                settings.push(ValueSetting { layer: layer.layer.clone(), value: value.clone() });
            }
        });
    }
    // The leaf of a lower layer below a scalar of a layer between them is not in effect; the highest setting is, in any case.
    Ok(leaves.into_iter().map(|(path, settings)| ValueProvenance { path, settings }).collect())
}

/// G111 if the paths of all leaves of a value have more than [`MAX_PATH_BYTES`] together; writes none of them.
fn check_path_bytes(value: &Value) -> Result<(), Box<Finding>> {
    if count_path_bytes(value, 0) <= MAX_PATH_BYTES {
        return Ok(());
    }
    let message = format!(
        "The paths of these values have more than {} MiB together, because each repeats the keys above it.",
        MAX_PATH_BYTES >> 20
    );
    Err(Box::new(Finding::error(
        LIMIT_EXCEEDED,
        message,
        "Use shorter keys, or fewer values below long ones.",
    )))
}

/// The bytes of the paths of a map or leaf at a path of `length` bytes and of everything below it.
fn count_path_bytes(value: &Value, length: usize) -> usize {
    let Value::Object(map) = value else { return length };
    let below = map.iter().map(|(key, item)| count_path_bytes(item, length.saturating_add(key.len() + 1)));
    below.fold(length, usize::saturating_add)
}

/// Calls `visit` for every scalar, list, `null` and empty map.
fn collect_leaves(value: &Value, path: String, visit: &mut impl FnMut(String, &Value)) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, item) in map {
                collect_leaves(item, format!("{path}/{}", escape_pointer_token(key)), visit);
            }
        }
        // The whole values are no leaf.
        Value::Object(_) if path.is_empty() => {}
        leaf => visit(path, leaf),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn layer(layer: ValuesLayer, values: Value) -> LayerValues {
        LayerValues { layer, values }
    }

    fn over(name: &str, specificity: Specificity) -> ValuesLayer {
        ValuesLayer::Override { name: name.into(), specificity }
    }

    #[test]
    fn a_lock_has_the_name_of_its_owner_in_responses_and_output() {
        let of_group = ValuesLayer::LockedByGroup { group: "eu".into() };
        let of_project = ValuesLayer::LockedByProject { project: "default".into() };
        assert_eq!(serde_json::to_value(&of_group).unwrap(), json!({"type": "locked", "group": "eu"}));
        let stored = json!({"type": "lockedByProject", "project": "default"});
        assert_eq!(serde_json::to_value(&of_project).unwrap(), stored);
        assert_eq!(of_group.to_string(), "locked by group eu");
        assert_eq!(of_project.lock_owner().as_deref(), Some("Project default"));
    }

    #[test]
    fn s1_11_values_are_merged_deeply_and_the_cluster_wins() {
        let layers = [
            layer(
                ValuesLayer::Common,
                json!({"replicas": 2, "image": {"tag": "1", "pull": "Always"}, "args": ["a"]}),
            ),
            layer(over("eu", Specificity::Group), json!({"replicas": 3, "args": ["b", "c"]})),
            layer(over("prod-eu", Specificity::Cluster), json!({"replicas": 5, "image": {"tag": null}})),
        ];
        assert_eq!(
            merge_layers(&layers),
            json!({"replicas": 5, "image": {"tag": null, "pull": "Always"}, "args": ["b", "c"]}),
            "null is kept for Helm"
        );
        let shown: Vec<String> = trace_values(&layers)
            .unwrap()
            .into_iter()
            .map(|leaf| {
                let settings: Vec<_> =
                    leaf.settings.iter().map(|one| format!("{} ← {}", one.value, one.layer)).collect();
                format!("{} {}", leaf.path, settings.join(", "))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "/args [\"b\",\"c\"] ← group eu, [\"a\"] ← common",
                "/image/pull \"Always\" ← common",
                "/image/tag null ← cluster prod-eu, \"1\" ← common",
                "/replicas 5 ← cluster prod-eu, 3 ← group eu, 2 ← common",
            ]
        );
    }

    #[test]
    fn a_map_that_replaces_a_scalar_has_no_setting_of_the_scalar() {
        let layers = [
            layer(ValuesLayer::Common, json!({"a": 1, "b": {"c": 1}})),
            layer(over("x", Specificity::Selector), json!({"a": {"b": 2}, "b": "off"})),
        ];
        let traced = trace_values(&layers).unwrap();
        let paths: Vec<_> = traced.iter().map(|leaf| (leaf.path.as_str(), leaf.settings.len())).collect();
        assert_eq!(paths, [("/a/b", 1), ("/b", 1)]);
    }

    #[test]
    fn e_8_the_first_setting_of_every_leaf_is_the_effective_value() {
        let layers = [
            layer(ValuesLayer::ChartDefault, json!({"a": {"b": {"c": 1}}, "l": [], "m": {}})),
            layer(ValuesLayer::Common, json!({"a": {"b": 1}, "m": {"x": {}}})),
            layer(over("x", Specificity::Cluster), json!({"a": {"b": {"c": 2}}, "l": null})),
        ];
        let effective = merge_layers(&layers);
        for leaf in trace_values(&layers).unwrap() {
            assert_eq!(
                effective.pointer(&leaf.path),
                leaf.settings.first().map(|one| &one.value),
                "{}",
                leaf.path
            );
        }
    }

    #[test]
    fn p19_g111_paths_that_repeat_long_keys_are_counted_before_they_are_written() {
        let below: Map<String, Value> = (0..13_000).map(|n| (format!("k{n}"), Value::from(n))).collect();
        let mut values = json!({});
        values["K".repeat(100_000).as_str()] = below.into();
        let layers = [layer(ValuesLayer::Common, values.clone())];
        assert_eq!(trace_values(&layers).unwrap_err().code, "G111");
        assert_eq!(find_lock_violations(&values, &layers).unwrap_err().code, "G111");
    }

    #[test]
    fn p19_violations_of_locks_are_bounded() {
        let values = |of: u32| -> Value {
            let map: Map<String, Value> = (0..1_000).map(|n| (format!("k{n}"), Value::from(of))).collect();
            map.into()
        };
        let layers = [layer(ValuesLayer::Common, values(1)), layer(ValuesLayer::Common, values(2))];
        assert_eq!(find_lock_violations(&values(3), &layers).unwrap().len(), MAX_VIOLATIONS);
    }
}
