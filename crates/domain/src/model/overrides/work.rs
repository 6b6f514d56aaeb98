//! A bound on the work of applying overrides on many clusters (G111), so that a plan needs seconds and little memory.

use serde_json::Value;

use super::limits::{patch_nodes, value_nodes};
use super::{ObjectSelector, Override};
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::text::finding::Finding;
use crate::text::manifest::{long_paths, longest_path};

/// Most values that the patches of one publish read and write, on all clusters together.
pub const MAX_WORK: usize = 10_000_000;
/// Most bytes of the paths of all values in patches if each is below the longest path of the objects.
const MAX_PATHS_BELOW: usize = 64 << 20;

/// The work of one override on one cluster.
#[derive(Debug, Clone, Copy, Default)]
struct OverrideWork {
    /// Values of the objects that its patches match, once per patch.
    objects: usize,
    /// Objects that its patches match, once per patch.
    matches: usize,
    /// Values that its patches contain.
    added: usize,
}

/// G111 if applying the overrides to these objects on all `clusters` exceeds [`MAX_WORK`]. Its own cost is small: no patch is
/// applied.
pub fn check_work(
    objects: &[Value],
    overrides: &[Override],
    clusters: &[&Cluster],
    groups: &[ClusterGroup],
) -> Option<Finding> {
    if overrides.is_empty() {
        return None;
    }
    // Fields that patches set are listed with their paths before the result is checked.
    if let Some(excess) = long_paths(objects.iter()).or_else(|| check_paths_below(objects, overrides)) {
        return Some(excess.with_path("/overrides"));
    }
    let sizes: Vec<usize> = objects.iter().map(value_nodes).collect();
    let works: Vec<OverrideWork> =
        overrides.iter().map(|over| override_work(over, objects, &sizes)).collect();
    let mut total = 0_usize;
    for cluster in clusters {
        let applicable = overrides
            .iter()
            .zip(&works)
            .filter(|(over, _)| over.target.specificity(cluster, groups).is_some());
        let sum = applicable.fold(OverrideWork::default(), |sum, (_, work)| sum.plus(*work));
        // Each patch copies its object, which may have grown by every patch before.
        total = total.saturating_add(sum.objects).saturating_add(sum.matches.saturating_mul(sum.added));
    }
    (total > MAX_WORK).then(|| work_finding(total, clusters.len()))
}

/// The finding for patches with so many values that their paths could be too long below the longest path of the objects: that of an item
/// has its name, which a patch need not spell.
fn check_paths_below(objects: &[Value], overrides: &[Override]) -> Option<Finding> {
    let longest = objects.iter().map(longest_path).max().unwrap_or_default();
    let values: usize = overrides.iter().flat_map(|over| &over.patches).map(patch_nodes).sum();
    (longest.saturating_mul(values) > MAX_PATHS_BELOW).then(|| {
        let message = format!(
            "The longest path of a field has {longest} bytes, and the patches have {values} values, which could all be below it."
        );
        Finding::error("G111", message, "Use shorter keys and names, or fewer values in the patches.")
    })
}

impl OverrideWork {
    fn plus(self, other: Self) -> Self {
        Self {
            objects: self.objects.saturating_add(other.objects),
            matches: self.matches.saturating_add(other.matches),
            added: self.added.saturating_add(other.added),
        }
    }
}

fn override_work(over: &Override, objects: &[Value], sizes: &[usize]) -> OverrideWork {
    over.patches.iter().fold(OverrideWork::default(), |sum, patch| {
        let matched = sizes_of_matches(&patch.object, objects, sizes);
        let (count, size) = matched.fold((0, 0_usize), |(count, size), one| (count + 1, size + one));
        sum.plus(OverrideWork { objects: size, matches: count, added: patch_nodes(patch) })
    })
}

fn sizes_of_matches<'a>(
    selector: &'a ObjectSelector,
    objects: &'a [Value],
    sizes: &'a [usize],
) -> impl Iterator<Item = usize> + 'a {
    objects.iter().zip(sizes).filter(|(object, _)| selector.matches(object)).map(|(_, size)| *size)
}

fn work_finding(total: usize, clusters: usize) -> Finding {
    let message = format!(
        "Applying the overrides on {clusters} clusters would process {total} values; at most {MAX_WORK} are allowed. They were \
         not applied, because this could exhaust the memory."
    );
    let hint = "Use fewer patches, name the kind and the name of the object that each patch changes, merge several \
                fields with one patch, or split the workload.";
    Finding::error("G111", message, hint).with_path("/overrides")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kubernetes::id::OverrideId;
    use crate::model::overrides::{ClusterSelector, Patch, PatchOp};

    #[test]
    fn p19_patches_below_a_long_name_of_an_item_are_not_applied() {
        let below: serde_json::Map<String, Value> = (0..9_000).map(|n| (format!("k{n}"), n.into())).collect();
        let op = PatchOp::Set { path: "/items/0/data".to_owned(), value: Value::Object(below) };
        let over = Override {
            id: OverrideId::from_parts(1, 1),
            name: "a".to_owned(),
            target: ClusterSelector::default(),
            priority: 1,
            values: String::new(),
            patches: vec![Patch { object: ObjectSelector::default(), op }],
        };
        let check = |name: &str| {
            let object = json!({"kind": "Other", "items": [{"name": name, "data": {}}]});
            check_work(&[object], std::slice::from_ref(&over), &[], &[])
        };
        assert_eq!(check("web"), None);
        let finding = check(&"x".repeat(10_000)).unwrap();
        assert_eq!((finding.code.as_str(), finding.is_blocking()), ("G111", true));
        assert!(finding.message.contains("the patches have 9001 values"), "{finding:?}");
    }
}
