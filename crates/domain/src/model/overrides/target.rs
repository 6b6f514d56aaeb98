//! The clusters that an override applies to, and its precedence there.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{ClusterSelector, Override};
use crate::kubernetes::id::OverrideId;
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::text::name_list::join_first;

/// How specific an override is for a cluster. Ordered: the greater is applied later and wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Specificity {
    /// The cluster is in one of its groups.
    Group,
    /// Its selector matches the cluster's labels and confirmed facts.
    Selector,
    /// It names the cluster.
    Cluster,
}

impl Specificity {
    /// The name in responses and output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl ClusterSelector {
    /// How specific this target is for a cluster, by the most specific of its parts; `None` if it does not select it.
    pub fn specificity(&self, cluster: &Cluster, groups: &[ClusterGroup]) -> Option<Specificity> {
        if self.clusters.contains(&cluster.name) {
            return Some(Specificity::Cluster);
        }
        if self.matches_labels_and_facts(cluster) {
            return Some(Specificity::Selector);
        }
        let member = |group: &&ClusterGroup| self.groups.contains(&group.name) && group.contains(cluster);
        groups.iter().find(member).map(|_| Specificity::Group)
    }

    /// Whether it has labels or facts, and the cluster has all of them.
    fn matches_labels_and_facts(&self, cluster: &Cluster) -> bool {
        let labels = self.selector.as_ref().map(|selector| selector.matches(&cluster.labels));
        let facts = (!self.field_selector.is_empty()).then(|| self.field_selector.matches(cluster));
        match (labels, facts) {
            (None, None) => false,
            (labels, facts) => labels.unwrap_or(true) && facts.unwrap_or(true),
        }
    }

    /// Whether it selects clusters by labels or facts, and not only by names and groups.
    pub fn has_selector(&self) -> bool {
        self.selector.is_some() || !self.field_selector.is_empty()
    }

    /// Whether it selects no cluster of any fleet.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty() && self.groups.is_empty() && !self.has_selector()
    }
}

/// Its parts, of which each adds clusters; labels and facts must match together. A precision bounds the names of each part: `{:.3}`
/// shows three and counts the others.
impl fmt::Display for ClusterSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = f.precision().unwrap_or(usize::MAX);
        let list = |noun: &str, names: &[String]| {
            let plural = if names.len() == 1 { "" } else { "s" };
            (!names.is_empty()).then(|| format!("{noun}{plural} {}", join_first(names, shown)))
        };
        let labels = self.selector.as_ref().map(|selector| {
            if selector.is_empty() { "every cluster".to_owned() } else { format!("labels {selector}") }
        });
        let facts = (!self.field_selector.is_empty()).then(|| format!("facts {}", self.field_selector));
        let selectors: Vec<String> = labels.into_iter().chain(facts).collect();
        let selectors = (!selectors.is_empty()).then(|| selectors.join(" and "));
        let parts = [list("cluster", &self.clusters), list("group", &self.groups), selectors];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { f.write_str("no cluster") } else { f.write_str(&parts.join("; ")) }
    }
}

/// An override that applies to a cluster, with its precedence there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApplicableOverride<'a> {
    pub over: &'a Override,
    /// Compared before the name; overrides of equal precedence are ordered only by their names.
    pub precedence: (Specificity, u32),
}

/// The overrides for a cluster, lowest precedence first.
pub(crate) fn list_applicable<'a>(
    overrides: &'a [Override],
    cluster: &Cluster,
    groups: &[ClusterGroup],
) -> Vec<ApplicableOverride<'a>> {
    let mut all: Vec<ApplicableOverride<'a>> = overrides
        .iter()
        .filter_map(|over| {
            let specificity = over.target.specificity(cluster, groups)?;
            Some(ApplicableOverride { over, precedence: (specificity, over.priority) })
        })
        .collect();
    all.sort_by(|a, b| (a.precedence, &a.over.name, a.over.id).cmp(&(b.precedence, &b.over.name, b.over.id)));
    all
}

/// The ids of the overrides for a cluster, lowest precedence first. Clusters with equal ids get equal objects, before
/// templates.
pub(crate) fn list_applicable_ids(
    overrides: &[Override],
    cluster: &Cluster,
    groups: &[ClusterGroup],
) -> Vec<OverrideId> {
    list_applicable(overrides, cluster, groups).iter().map(|applying| applying.over.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_described_by_its_parts_and_a_precision_bounds_their_names() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut target = ClusterSelector::default();
        assert_eq!(target.to_string(), "no cluster");
        target.clusters = names(&["eu-1"]);
        assert_eq!(target.to_string(), "cluster eu-1");
        target.groups = names(&["edge", "eu", "us", "ap"]);
        assert_eq!(target.to_string(), "cluster eu-1; groups edge, eu, us, ap");
        assert_eq!(format!("{target:.3}"), "cluster eu-1; groups edge, eu, us and 1 more");
        let mut matching = ClusterSelector { selector: "env=prod".parse().ok(), ..Default::default() };
        assert_eq!(matching.to_string(), "labels env=prod");
        matching.field_selector = "provider=aws".parse().unwrap();
        assert_eq!(matching.to_string(), "labels env=prod and facts provider=aws");
        matching.selector = "".parse().ok();
        assert_eq!(matching.to_string(), "every cluster and facts provider=aws");
    }
}
