//! Exclusive groups: a cluster of one, by name or by its labels, is in no other group (S1-1).

use std::collections::{BTreeSet, HashSet};

use super::ClusterGroup;
use crate::model::cluster::Cluster;
use crate::text::finding::Finding;

/// A placement or a group is invalid.
pub const INVALID_GROUP: &str = "G502";
/// Most conflicts of a group that are listed.
const LISTED_CONFLICTS: usize = 10;

/// A cluster of a group that is also in another one, although one of both is exclusive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupConflict {
    /// Name of the cluster, which may not be registered yet.
    pub cluster: String,
    /// The other group.
    pub group: String,
}

/// The clusters that `group` has in common with others, where one of both is exclusive.
pub fn find_group_conflicts(
    group: &ClusterGroup,
    others: &[ClusterGroup],
    clusters: &[Cluster],
) -> BTreeSet<GroupConflict> {
    let own = list_member_names(group, clusters);
    let is_concerned =
        |other: &&ClusterGroup| other.name != group.name && (group.exclusive || other.exclusive);
    let mut found = BTreeSet::new();
    for other in others.iter().filter(is_concerned) {
        for name in list_member_names(other, clusters).intersection(&own) {
            found.insert(GroupConflict { cluster: (*name).to_owned(), group: other.name.clone() });
        }
    }
    found
}

/// The conflicts of a stored group as findings (G502): a cluster that joined has brought them about, or an earlier release accepted them.
pub fn describe_group_conflicts(conflicts: &BTreeSet<GroupConflict>) -> Vec<Finding> {
    let hint = "Change the selector or the members of one of the groups, or the labels of the cluster, or make neither group exclusive.";
    let warn = |message: String| Finding::warning(INVALID_GROUP, message, hint);
    let describe = |conflict: &GroupConflict| {
        let GroupConflict { cluster, group } = conflict;
        warn(format!("Cluster {cluster} is also in group {group}, although one of both is exclusive."))
    };
    let mut findings: Vec<Finding> = conflicts.iter().take(LISTED_CONFLICTS).map(describe).collect();
    if let Some(more @ 1..) = conflicts.len().checked_sub(LISTED_CONFLICTS) {
        findings.push(warn(match more {
            1 => "1 more membership of its clusters in another group is in conflict.".to_owned(),
            _ => format!("{more} more memberships of its clusters in other groups are in conflict."),
        }));
    }
    findings
}

/// The pairs of groups that a registered cluster is in although one of both is exclusive, each in the order of the list. Unlike
/// [`find_group_conflicts`] it lists the members of no group: it runs for every cluster whose labels change.
pub fn find_conflicting_groups(groups: &[ClusterGroup], cluster: &Cluster) -> BTreeSet<(String, String)> {
    let of_cluster: Vec<&ClusterGroup> = groups.iter().filter(|group| group.contains(cluster)).collect();
    let mut found = BTreeSet::new();
    for (index, one) in of_cluster.iter().enumerate() {
        let others = of_cluster.iter().skip(index + 1).filter(|other| one.exclusive || other.exclusive);
        found.extend(others.map(|other| (one.name.clone(), other.name.clone())));
    }
    found
}

/// The names of the members by [`ClusterGroup::contains`], and those of members that are not registered.
fn list_member_names<'a>(group: &'a ClusterGroup, clusters: &'a [Cluster]) -> HashSet<&'a str> {
    let mut names: HashSet<&str> = group.members.iter().map(String::as_str).collect();
    // `contains` would search the list of members for each cluster.
    if let Some(selector) = &group.selector {
        let matching = clusters.iter().filter(|cluster| selector.matches(&cluster.labels));
        names.extend(matching.map(|cluster| cluster.name.as_str()));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::cluster::ClusterKind;

    fn cluster(name: &str, labels: &[(&str, &str)]) -> Cluster {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let id = ClusterId::from_parts(1, name.len() as u128);
        let new = Cluster::new(id, name.to_owned(), ClusterKind::Agent, Timestamp::from_millis(0));
        Cluster { labels, ..new }
    }

    fn group(name: &str, members: &[&str], selector: &str) -> ClusterGroup {
        ClusterGroup {
            name: name.to_owned(),
            members: members.iter().map(|name| (*name).to_owned()).collect(),
            selector: (!selector.is_empty()).then(|| selector.parse().unwrap()),
            ..ClusterGroup::default()
        }
    }

    fn exclusive(group: ClusterGroup) -> ClusterGroup {
        ClusterGroup { exclusive: true, ..group }
    }

    fn shown(conflicts: &BTreeSet<GroupConflict>) -> Vec<String> {
        conflicts.iter().map(|one| format!("{} {}", one.cluster, one.group)).collect()
    }

    #[test]
    fn a_cluster_is_in_conflict_however_it_is_a_member_of_both_groups() {
        let clusters =
            [cluster("eu-1", &[("env", "prod"), ("tier", "edge")]), cluster("us", &[("env", "prod")])];
        let edge = exclusive(group("edge", &[], "tier=edge"));
        let others = [
            edge.clone(),
            group("named", &["eu-1"], ""),
            group("prod", &[], "env=prod"),
            exclusive(group("strict", &["new"], "env=prod")),
            group("us", &["us", "new"], ""),
        ];
        let found = find_group_conflicts(&edge, &others, &clusters);
        assert_eq!(shown(&found), ["eu-1 named", "eu-1 prod", "eu-1 strict"]);
        // Groups that are not exclusive may share clusters; names of clusters that are not registered count.
        let found = find_group_conflicts(&others[4], &others, &clusters);
        assert_eq!(shown(&found), ["new strict", "us strict"]);
        let groups = find_conflicting_groups(&others, &clusters[0]);
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        let expected = [
            pair("edge", "named"),
            pair("edge", "prod"),
            pair("edge", "strict"),
            pair("named", "strict"),
            pair("prod", "strict"),
        ];
        assert_eq!(groups.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn g502_the_findings_of_a_group_are_bounded_and_count_the_others() {
        let conflict =
            |number: usize| GroupConflict { cluster: format!("c-{number:02}"), group: "edge".to_owned() };
        let findings = |count: usize| describe_group_conflicts(&(0..count).map(conflict).collect());
        // Twelve groups with one cluster, which is in conflict with each.
        let memberships = (0..12)
            .map(|number| GroupConflict { cluster: "c-00".to_owned(), group: format!("group-{number:02}") });
        let of_one_cluster = describe_group_conflicts(&memberships.collect());
        let more = "2 more memberships of its clusters in other groups are in conflict.";
        assert_eq!(of_one_cluster[10].message, more);
        assert!(findings(11)[10].message.starts_with("1 more membership of its clusters"));
        assert_eq!((findings(0).len(), findings(10).len(), findings(12).len()), (0, 10, 11));
        assert!(findings(1)[0].message.starts_with("Cluster c-00 is also in group edge"));
        assert_eq!(findings(12)[10].message, more);
        assert!(findings(12).iter().all(|finding| finding.code == INVALID_GROUP && !finding.is_blocking()));
    }
}
