//! The clusters an override is for, and how strongly it is for one.

use super::{Override, Target};
use crate::cluster::Cluster;
use crate::id::OverrideId;
use crate::placement::ClusterGroup;

/// How specific an override is for a cluster. Ordered: the greater is applied later and wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Specificity {
    /// The cluster is in a group it is for.
    Group,
    /// Its selector matches the cluster's labels.
    Selector,
    /// It names the cluster.
    Cluster,
}

impl Target {
    /// How specific this target is for a cluster, by the most specific of its parts; `None` if it is not for it.
    pub fn specificity(&self, cluster: &Cluster, groups: &[ClusterGroup]) -> Option<Specificity> {
        if self.clusters.contains(&cluster.name) {
            return Some(Specificity::Cluster);
        }
        if self.selector.as_ref().is_some_and(|selector| selector.matches(&cluster.labels)) {
            return Some(Specificity::Selector);
        }
        let member = |group: &&ClusterGroup| self.groups.contains(&group.name) && group.contains(cluster);
        groups.iter().find(member).map(|_| Specificity::Group)
    }

    /// Whether it is for no cluster whatever the fleet looks like.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty() && self.groups.is_empty() && self.selector.is_none()
    }
}

/// An override that is for a cluster, with the strength it has there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applying<'a> {
    pub over: &'a Override,
    /// Compared before the name; two overrides of one strength are only told apart by their names.
    pub strength: (Specificity, u32),
}

/// The overrides for a cluster, weakest first.
pub(super) fn applying<'a>(
    overrides: &'a [Override],
    cluster: &Cluster,
    groups: &[ClusterGroup],
) -> Vec<Applying<'a>> {
    let mut all: Vec<Applying<'a>> = overrides
        .iter()
        .filter_map(|over| {
            let specificity = over.target.specificity(cluster, groups)?;
            Some(Applying { over, strength: (specificity, over.priority) })
        })
        .collect();
    all.sort_by(|a, b| (a.strength, &a.over.name, a.over.id).cmp(&(b.strength, &b.over.name, b.over.id)));
    all
}

/// Which overrides are for a cluster, weakest first. Clusters with the same get the same objects, before templates.
pub(crate) fn order(overrides: &[Override], cluster: &Cluster, groups: &[ClusterGroup]) -> Vec<OverrideId> {
    applying(overrides, cluster, groups).iter().map(|one| one.over.id).collect()
}
