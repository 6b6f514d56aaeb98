//! Limits on the overrides of a workload (G111). Verbs check them before they store overrides, so that what is stored can be
//! read, rendered and shipped.

use serde_json::Value;

use super::apply::raw_path;
use super::{ClusterSelector, Override, Patch};
use crate::kubernetes::labels::LabelSelector;
use crate::text::finding::Finding;
use crate::text::manifest::{MAX_DEPTH, MAX_OBJECT_BYTES, json_size, value_depth};

/// Most overrides of one workload.
pub const MAX_OVERRIDES: usize = 1_000;
/// Most patches of all overrides of one workload together.
pub const MAX_PATCHES: usize = 2_000;
/// Most values (maps, lists, texts, numbers …) in one patch.
pub const MAX_PATCH_NODES: usize = 10_000;
/// Most bytes of all overrides of one workload together, as JSON: no cluster takes more in one object.
pub const MAX_OVERRIDE_BYTES: usize = MAX_OBJECT_BYTES;

/// Most values in the selectors of the targets of all overrides of one workload together, names of groups included. A term without values
/// counts as one. Each is compared with each cluster.
pub const MAX_TARGET_VALUES: usize = 5_000;

const SPLIT_HINT: &str = "Split the workload, or write the content into the source, a volume or an image.";

/// Checks the limits on number, size and nesting. Paths are relative to the workload's spec.
pub fn check_limits(overrides: &[Override]) -> Vec<Finding> {
    let patches: usize = overrides.iter().map(|over| over.patches.len()).sum();
    let count = |count: usize, max: usize, what: &str, hint: &str| {
        let message = format!("The workload has {count} {what}; at most {max} are allowed.");
        (count > max).then(|| Finding::error("G111", message, hint).with_path("/overrides"))
    };
    let group_hint = "Select several clusters in one override, by group or label selector.";
    let merge_hint = "Merge several fields with one patch of op merge.";
    let mut findings: Vec<Finding> = count(overrides.len(), MAX_OVERRIDES, "overrides", group_hint)
        .into_iter()
        .chain(count(patches, MAX_PATCHES, "patches in its overrides", merge_hint))
        .chain(count(
            overrides.iter().map(|over| count_target_values(&over.target)).sum(),
            MAX_TARGET_VALUES,
            "values in the selectors and groups of its overrides",
            "Give the clusters one label that says what the values say together, or name the clusters.",
        ))
        .collect();
    let bytes = json_size(overrides);
    if bytes > MAX_OVERRIDE_BYTES {
        let message = format!(
            "The overrides of the workload have {bytes} bytes; at most {MAX_OVERRIDE_BYTES} are allowed, the most that a \
             cluster takes in one object."
        );
        findings.push(Finding::error("G111", message, SPLIT_HINT).with_path("/overrides"));
    }
    // Beyond the limits above there may be any number of patches.
    if findings.is_empty() {
        for (at, over) in overrides.iter().enumerate() {
            let of_patches = over.patches.iter().enumerate().filter_map(|(n, patch)| {
                Some(check_patch(&over.name, patch)?.with_path(format!("/overrides/{at}/patches/{n}")))
            });
            findings.extend(of_patches);
        }
    }
    findings
}

/// How many values this target compares with a cluster, names of clusters excepted.
fn count_target_values(target: &ClusterSelector) -> usize {
    let labels = target.selector.as_ref().map_or(0, LabelSelector::count_values);
    target.groups.len() + labels + target.field_selector.count_values()
}

fn check_patch(name: &str, patch: &Patch) -> Option<Finding> {
    let depth = patch_depth(patch);
    if depth > MAX_DEPTH {
        return Some(Finding::error(
            "G111",
            format!(
                "Override {name:?} has a patch that nests values {depth} deep; at most {MAX_DEPTH} levels are allowed."
            ),
            "Write a value with fewer levels, or a shorter path.",
        ));
    }
    let nodes = patch_nodes(patch);
    (nodes > MAX_PATCH_NODES).then(|| {
        let message = format!(
            "Override {name:?} has a patch with {nodes} values; at most {MAX_PATCH_NODES} are allowed."
        );
        Finding::error("G111", message, SPLIT_HINT)
    })
}

/// How deep the patch nests fields in an object: the segments of its path, and the levels of its value.
fn patch_depth(patch: &Patch) -> usize {
    raw_path(&patch.op).matches('/').count() + patch.op.value().map_or(0, value_depth)
}

/// The number of values in the patch.
pub(super) fn patch_nodes(patch: &Patch) -> usize {
    patch.op.value().map_or(0, value_nodes)
}

/// The number of values: the value itself, and everything in it.
pub(super) fn value_nodes(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(value_nodes).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(value_nodes).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::OverrideId;

    #[test]
    fn p20_the_targets_of_all_overrides_have_a_limit_on_their_values_together() {
        let with = |groups: usize| {
            let names: Vec<String> = (0..MAX_TARGET_VALUES - 2).map(|n| format!("v{n}")).collect();
            let target = ClusterSelector {
                clusters: vec!["eu".to_owned(); 10],
                groups: vec!["a".to_owned(); groups],
                selector: Some(format!("key in ({})", names.join(",")).parse().unwrap()),
                field_selector: "!region".parse().unwrap(),
            };
            let over = Override {
                id: OverrideId::from_parts(0, 0),
                name: "wide".to_owned(),
                target,
                priority: 1,
                values: String::new(),
                patches: Vec::new(),
            };
            check_limits(&[over])
        };
        assert!(with(1).is_empty(), "{:?}", with(1));
        let findings = with(2);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].is_blocking() && findings[0].message.contains("5001 values"), "{findings:?}");
    }
}
