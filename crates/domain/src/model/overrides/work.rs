//! A bound on the work of applying overrides on many clusters (G111), so that a plan needs seconds and little memory.

use serde_json::Value;

use super::limits::{patch_nodes, value_nodes};
use super::{ObjectSelector, Override};
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::text::finding::Finding;

/// Most values that the patches of one publish read and write, on all clusters together.
pub const MAX_WORK: usize = 10_000_000;

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
