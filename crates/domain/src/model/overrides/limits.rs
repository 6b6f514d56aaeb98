//! Limits on the overrides of a workload (G111). Verbs check them before they store overrides, so that what is stored can be
//! read, rendered and shipped.

use serde_json::Value;

use super::apply::raw_path;
use super::{ClusterSelector, Override, Patch};
use crate::kubernetes::labels::LabelSelector;
use crate::text::finding::Finding;
use crate::text::manifest::{MAX_DEPTH, MAX_OBJECT_BYTES, count_path_bytes, json_size, value_depth};

/// Most overrides of one workload.
pub const MAX_OVERRIDES: usize = 1_000;
/// Most patches of all overrides of one workload together.
pub const MAX_PATCHES: usize = 2_000;
/// Most values (maps, lists, texts, numbers …) in the patches of one override. Each needs far more memory than its text.
pub const MAX_OVERRIDE_VALUES: usize = 10_000;
/// Most values in the patches of all overrides of one workload together: they are in memory whenever its draft or a revision is read.
pub const MAX_PATCH_VALUES: usize = 30_000;
/// Most bytes of all overrides of one workload together, as JSON: no cluster takes more in one object.
pub const MAX_OVERRIDE_BYTES: usize = MAX_OBJECT_BYTES;

/// Most bytes that the paths of all values in the patches of a workload have together: each repeats the keys above it.
const MAX_PATCH_PATH_BYTES: usize = 16 << 20;

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
    findings.extend(check_all_values(overrides));
    findings.extend(check_path_bytes(overrides));
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
            findings.extend(check_values(over).map(|finding| finding.with_path(format!("/overrides/{at}"))));
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

/// The finding for overrides whose patches have too many values together; it names the one that has most of them.
fn check_all_values(overrides: &[Override]) -> Option<Finding> {
    let values = overrides.iter().map(override_values).fold(0_usize, usize::saturating_add);
    let largest = overrides.iter().max_by_key(|over| override_values(over))?;
    (values > MAX_PATCH_VALUES).then(|| {
        let message = format!(
            "The patches of all overrides of the workload have {values} values; at most {MAX_PATCH_VALUES} are allowed. \
             Override {:?} has {} of them.",
            largest.name,
            override_values(largest)
        );
        Finding::error("G111", message, SPLIT_HINT).with_path("/overrides")
    })
}

/// The finding for patches whose values have paths over the limit together; it names the override that has most of them.
fn check_path_bytes(overrides: &[Override]) -> Option<Finding> {
    let counted = || overrides.iter().map(|over| (patch_path_bytes(over), over));
    let bytes = counted().fold(0_usize, |sum, (bytes, _)| sum.saturating_add(bytes));
    let (_, largest) = counted().max_by_key(|(bytes, _)| *bytes)?;
    (bytes > MAX_PATCH_PATH_BYTES).then(|| {
        let message = format!(
            "The paths of all values in the patches have {bytes} bytes together, because each repeats the keys \
             above it; at most {MAX_PATCH_PATH_BYTES} are allowed. Override {:?} has most of them.",
            largest.name
        );
        Finding::error("G111", message, "Use shorter keys, or fewer values below long ones.").with_path("/overrides")
    })
}

fn patch_path_bytes(over: &Override) -> usize {
    let of_patch = |patch: &Patch| {
        let length = raw_path(&patch.op).len();
        patch.op.value().map_or(length, |value| count_path_bytes(value, length))
    };
    over.patches.iter().map(of_patch).fold(0, usize::saturating_add)
}

fn check_values(over: &Override) -> Option<Finding> {
    let values = override_values(over);
    (values > MAX_OVERRIDE_VALUES).then(|| {
        let message = format!(
            "Override {:?} has patches with {values} values; at most {MAX_OVERRIDE_VALUES} are allowed.",
            over.name
        );
        Finding::error("G111", message, SPLIT_HINT)
    })
}

/// The number of values in the patches of an override.
fn override_values(over: &Override) -> usize {
    over.patches.iter().map(patch_nodes).fold(0, usize::saturating_add)
}

fn check_patch(name: &str, patch: &Patch) -> Option<Finding> {
    let depth = patch_depth(patch);
    (depth > MAX_DEPTH).then(|| {
        Finding::error(
            "G111",
            format!(
                "Override {name:?} has a patch that nests values {depth} deep; at most {MAX_DEPTH} levels are allowed."
            ),
            "Write a value with fewer levels, or a shorter path.",
        )
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
    use crate::model::overrides::{ObjectSelector, PatchOp};

    /// An override with patches that have so many values each.
    fn patched(name: &str, values: &[usize]) -> Override {
        let merge = |count: &usize| {
            let value = Value::Array(vec![Value::Null; count - 1]);
            Patch { object: ObjectSelector::default(), op: PatchOp::Merge { value } }
        };
        Override {
            id: OverrideId::from_parts(0, 0),
            name: name.to_owned(),
            target: ClusterSelector::default(),
            priority: 1,
            values: String::new(),
            patches: values.iter().map(merge).collect(),
        }
    }

    #[test]
    fn p19_the_patches_of_one_override_and_of_all_have_a_limit_on_their_values() {
        let most = [MAX_OVERRIDE_VALUES - 10, 10];
        let full: Vec<Override> = ["a", "b", "c"].map(|name| patched(name, &most)).into();
        assert_eq!(check_limits(&full), []);
        let one = check_limits(&[patched("a", &[10]), patched("wide", &[MAX_OVERRIDE_VALUES - 9, 10])]);
        assert_eq!((one.len(), one[0].path.as_str()), (1, "/overrides/1"), "{one:?}");
        let expected = "Override \"wide\" has patches with 10001 values; at most 10000 are allowed.";
        assert_eq!((one[0].message.as_str(), one[0].is_blocking()), (expected, true));
        let all = check_limits(&[full, vec![patched("last", &[1])]].concat());
        assert_eq!((all.len(), all[0].path.as_str()), (1, "/overrides"), "{all:?}");
        assert!(all[0].message.contains("have 30001 values; at most 30000 are allowed."), "{all:?}");
        assert!(all[0].message.contains("has 10000 of them."), "{all:?}");
    }

    #[test]
    fn p19_the_paths_of_the_values_in_patches_have_a_limit_together() {
        let merge = |key: usize| {
            let below: serde_json::Map<String, Value> =
                (0..9_000).map(|n| (format!("k{n}"), Value::Null)).collect();
            let value = serde_json::json!({ ("x".repeat(key)): below });
            let mut over = patched("long", &[]);
            over.patches = vec![Patch { object: ObjectSelector::default(), op: PatchOp::Merge { value } }];
            over
        };
        assert_eq!(check_limits(&[merge(253), patched("a", &[10])]), []);
        let found = check_limits(&[patched("a", &[10]), merge(500_000)]);
        assert_eq!(
            (found.len(), found[0].code.as_str(), found[0].is_blocking()),
            (1, "G111", true),
            "{found:?}"
        );
        assert!(found[0].message.contains("Override \"long\" has most of them."), "{found:?}");
    }

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
