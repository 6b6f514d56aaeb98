//! Members of a cluster group: those it has, those it could have, and what a change of them would do.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{ClusterGroup, NewMembers};
use crate::kubernetes::labels::{InvalidSelector, LabelSelector, Labels};
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Cluster, Connectivity};
use crate::text::finding::Finding;

/// How a cluster is a member of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GroupMembershipKind {
    /// It is none.
    #[default]
    None,
    /// The group names it.
    Named,
    /// Its labels match the selector of the group.
    Label,
}

/// A cluster in the list from which the members of a group are picked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupCandidate {
    /// Its name.
    pub name: String,
    /// Its region; may be empty.
    pub region: String,
    /// Whether it reports.
    pub connectivity: Connectivity,
    /// When it was last seen.
    pub last_seen: Option<Timestamp>,
    /// Since when its API server does not respond to its agent.
    pub api_server_down_since: Option<Timestamp>,
    /// Its labels.
    pub labels: Labels,
    /// How it is a member now.
    pub membership: GroupMembershipKind,
}

impl GroupCandidate {
    /// This cluster in the list of a group.
    pub fn from_cluster(cluster: &Cluster, membership: GroupMembershipKind) -> Self {
        Self {
            name: cluster.name.clone(),
            region: cluster.region().to_owned(),
            connectivity: cluster.connectivity,
            last_seen: cluster.last_seen,
            api_server_down_since: cluster.api_server_outage.as_ref().map(|outage| outage.since),
            labels: cluster.labels.clone(),
            membership,
        }
    }
}

/// Whether a cluster matches a search in its name, its region and its labels, written as `key=value`.
pub fn matches_search(cluster: &Cluster, text: &str) -> bool {
    let text = text.trim().to_lowercase();
    let contains = |part: &str| part.to_lowercase().contains(&text);
    contains(&cluster.name)
        || contains(cluster.region())
        || cluster.labels.iter().any(|(key, value)| contains(&format!("{key}={value}")))
}

/// A change of the members of a group; what it does not name stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupMembersChange {
    /// Names of clusters that the group shall name.
    pub add: Vec<String>,
    /// Names of clusters that it shall not name any more.
    pub remove: Vec<String>,
    /// The new label selector, as text; empty for none, `None` to keep it.
    pub selector: Option<String>,
}

impl GroupMembersChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty() && self.selector.is_none()
    }

    /// The group after this change.
    ///
    /// # Errors
    /// The selector can't be parsed.
    pub fn apply(&self, group: &ClusterGroup) -> Result<ClusterGroup, InvalidSelector> {
        let removed: HashSet<&String> = self.remove.iter().collect();
        let mut members: Vec<String> =
            group.members.iter().filter(|name| !removed.contains(name)).cloned().collect();
        let known: HashSet<String> = members.iter().cloned().collect();
        members.extend(self.add.iter().filter(|name| !known.contains(*name)).cloned());
        let selector = match self.selector.as_deref().map(str::trim) {
            None => group.selector.clone(),
            Some("") => None,
            Some(text) => Some(text.parse::<LabelSelector>()?),
        };
        Ok(ClusterGroup { members, selector, ..group.clone() })
    }
}

impl ClusterGroup {
    /// How each of these clusters is a member.
    pub fn memberships<'a>(
        &self,
        clusters: &'a [Cluster],
    ) -> impl Iterator<Item = (&'a Cluster, GroupMembershipKind)> {
        let named: HashSet<&String> = self.members.iter().collect();
        clusters.iter().map(move |cluster| {
            let matches = || self.selector.as_ref().is_some_and(|selector| selector.matches(&cluster.labels));
            let membership = match named.contains(&cluster.name) {
                true => GroupMembershipKind::Named,
                false if matches() => GroupMembershipKind::Label,
                false => GroupMembershipKind::None,
            };
            (cluster, membership)
        })
    }
}

/// A group in the list of all groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupSummary {
    /// Its name.
    pub name: String,
    /// How many clusters are members by name.
    pub named: u32,
    /// How many others are members by their labels.
    pub by_label: u32,
    /// The names of its first clusters, at most [`SUMMARY_CLUSTERS`].
    pub clusters: Vec<String>,
    /// Its selector.
    pub selector: Option<LabelSelector>,
    /// Whether its clusters may be in no other group.
    pub exclusive: bool,
}

/// Clusters that the summary of a group names.
pub const SUMMARY_CLUSTERS: usize = 4;

/// A label that clusters have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetLabel {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// How many clusters have it.
    pub clusters: u32,
}

/// What a change of a group would do. Lists of names are complete.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GroupPreview {
    /// How many clusters are members now.
    pub members: u32,
    /// How many would be.
    pub members_after: u32,
    /// The clusters that would become members.
    pub joining: Vec<String>,
    /// The clusters that would not be members any more.
    pub leaving: Vec<String>,
    /// The published workloads that would be placed elsewhere, by name.
    pub workloads: Vec<GroupEffect>,
    /// Workloads that the group places and for which the effect was not computed, because there are too many.
    pub not_evaluated: u32,
    /// Why the change would be rejected, such as clusters that an exclusive group has (G502).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// What a change of a group would do to one published workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GroupEffect {
    /// Its name.
    pub workload: String,
    /// The clusters that run it and would lose it, after the removal notice.
    pub losing: Vec<String>,
    /// The clusters that would match and do not run it.
    pub gaining: Vec<String>,
    /// Whether these get it with the next publish or immediately.
    pub new_members: NewMembers,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::model::cluster::ClusterKind;

    fn cluster(name: &str, env: &str) -> Cluster {
        let id = ClusterId::from_parts(1, 1);
        let labels = [("env".to_owned(), env.to_owned())].into();
        Cluster { labels, ..Cluster::new(id, name, ClusterKind::Agent, Timestamp::from_millis(0)) }
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn s1_1_a_change_names_only_what_it_adds_and_removes() {
        let group = ClusterGroup { members: names(&["a", "b"]), ..ClusterGroup::default() };
        let change = GroupMembersChange { add: names(&["b", "c"]), remove: names(&["a"]), selector: None };
        assert_eq!(change.apply(&group).unwrap().members, names(&["b", "c"]));
        let selector = |text: &str| GroupMembersChange { selector: Some(text.into()), ..Default::default() };
        let changed = selector("env=prod").apply(&group).unwrap();
        assert_eq!(changed.selector.clone().unwrap().to_string(), "env=prod");
        assert_eq!(selector(" ").apply(&changed).unwrap().selector, None);
        assert!(selector("env in (").apply(&group).is_err());
    }

    #[test]
    fn a_cluster_is_a_member_by_its_name_or_by_its_labels() {
        let group = ClusterGroup {
            members: names(&["a"]),
            selector: Some("env=prod".parse().unwrap()),
            ..ClusterGroup::default()
        };
        let clusters = [cluster("a", "prod"), cluster("b", "prod"), cluster("c", "dev")];
        let found: Vec<GroupMembershipKind> = group.memberships(&clusters).map(|(_, kind)| kind).collect();
        assert_eq!(
            found,
            [GroupMembershipKind::Named, GroupMembershipKind::Label, GroupMembershipKind::None]
        );
        assert!(matches_search(&clusters[2], "ENV=de") && matches_search(&clusters[2], "C"));
        assert!(!matches_search(&clusters[2], "prod"));
    }
}
