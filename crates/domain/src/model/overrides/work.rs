//! A bound on the work of applying overrides on many clusters (G111), so that a plan needs seconds and little memory.

use serde_json::Value;

use super::apply::raw_path;
use super::limits::{patch_nodes, value_nodes};
use super::{ObjectSelector, Override, Patch};
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::text::finding::Finding;
use crate::text::manifest::{long_paths, longest_path};

/// Most values that the patches of one publish read and write, on all clusters together.
pub const MAX_WORK: usize = 10_000_000;
/// Most bytes of the paths of all values in patches if each is below the longest path of the objects, and of the names that patches give
/// items, in the paths of all fields.
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

/// The finding for patches with which paths could be too long that spell no key of them: that of an item has its name, which a patch need
/// not spell, and which another patch may have given it.
fn check_paths_below(objects: &[Value], overrides: &[Override]) -> Option<Finding> {
    let patches = || overrides.iter().flat_map(|over| &over.patches);
    let longest = objects.iter().map(longest_path).max().unwrap_or_default();
    let values: usize = patches().map(patch_nodes).sum();
    let name = patches().map(longest_name).max().unwrap_or_default();
    let lists = objects.iter().map(list_depth).chain(patches().map(patch_lists)).max().unwrap_or_default();
    let fields = values + objects.iter().map(value_nodes).sum::<usize>();
    let below = longest.saturating_mul(values);
    let renamed = name.saturating_mul(lists).saturating_mul(fields);
    (below.saturating_add(renamed) > MAX_PATHS_BELOW).then(|| {
        let message = format!(
            "The longest path of a field has {longest} bytes, the longest name that a patch sets {name}, and \
             the patches have {values} values: the paths of all fields could be too long together."
        );
        Finding::error("G111", message, "Use shorter keys and names, or fewer values in the patches.")
    })
}

/// The bytes of the longest name that a patch gives an item.
fn longest_name(patch: &Patch) -> usize {
    let Some(value) = patch.op.value() else { return 0 };
    let is_name = raw_path(&patch.op).ends_with("/name");
    let own = if is_name { value.as_str().map_or(0, str::len) } else { 0 };
    own.max(longest_name_in(value))
}

fn longest_name_in(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            let own = map.get("name").and_then(Value::as_str).map_or(0, str::len);
            map.values().map(longest_name_in).max().unwrap_or_default().max(own)
        }
        Value::Array(items) => items.iter().map(longest_name_in).max().unwrap_or_default(),
        _ => 0,
    }
}

/// How many lists are around the innermost value that a patch sets, at most.
fn patch_lists(patch: &Patch) -> usize {
    let path = raw_path(&patch.op);
    let is_item = |part: &&str| *part == "-" || part.bytes().all(|byte| byte.is_ascii_digit());
    let items = path.split('/').skip(1).filter(is_item).count() + path.matches('[').count();
    items + patch.op.value().map_or(0, list_depth)
}

/// The number of lists around the innermost value.
fn list_depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(list_depth).max().unwrap_or_default(),
        Value::Array(items) => 1 + items.iter().map(list_depth).max().unwrap_or_default(),
        _ => 0,
    }
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
    // With the namespace that matches most.
    let matched = move |object: &Value| selector.matches(object, &selector.namespace);
    objects.iter().zip(sizes).filter(move |(object, _)| matched(object)).map(|(_, size)| *size)
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
    use crate::model::overrides::{ClusterSelector, PatchOp};

    fn set(path: &str, value: Value) -> Patch {
        Patch { object: ObjectSelector::default(), op: PatchOp::Set { path: path.to_owned(), value } }
    }

    fn patched(patches: Vec<Patch>) -> Override {
        Override {
            id: OverrideId::from_parts(1, 1),
            name: "a".to_owned(),
            target: ClusterSelector::default(),
            priority: 1,
            values: String::new(),
            patches,
        }
    }

    fn many_fields() -> Value {
        Value::Object((0..9_000).map(|n| (format!("k{n}"), n.into())).collect())
    }

    #[test]
    fn p19_patches_below_a_long_name_of_an_item_are_not_applied() {
        let over = patched(vec![set("/items/0/data", many_fields())]);
        let check = |name: &str| {
            let object = json!({"kind": "Other", "items": [{"name": name, "data": {}}]});
            check_work(&[object], std::slice::from_ref(&over), &[], &[])
        };
        assert_eq!(check("web"), None);
        let finding = check(&"x".repeat(10_000)).unwrap();
        assert_eq!((finding.code.as_str(), finding.is_blocking()), ("G111", true));
        assert!(finding.message.contains("the patches have 9001 values"), "{finding:?}");
    }

    #[test]
    fn p19_a_long_name_that_one_patch_sets_counts_for_the_fields_of_others_and_of_objects() {
        let few = json!({"kind": "Other", "items": [{"name": "web", "data": {}}]});
        let many = json!({"kind": "Other", "items": [{"name": "web", "data": many_fields()}]});
        let item = |name: &str| json!([{"name": name, "data": {}}]);
        let check = |object: &Value, patches: Vec<Patch>| {
            check_work(std::slice::from_ref(object), &[patched(patches)], &[], &[])
        };
        let long = "x".repeat(10_000);
        assert_eq!(check(&many, vec![set("/items/0/name", json!("api"))]), None);
        for (object, patches) in [
            (&many, vec![set("/items/0/name", json!(long))]),
            (&few, vec![set("/items", item(&long)), set("/items/0/data", many_fields())]),
        ] {
            let finding = check(object, patches).unwrap();
            assert!(finding.message.contains("that a patch sets 10000,"), "{finding:?}");
        }
    }
}
