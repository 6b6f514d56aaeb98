//! Exclusive groups: a cluster of one is in no other group (G502). What a user changes is refused; what a cluster brings about that joins
//! is displayed with the group.

use std::collections::BTreeSet;

use domain::Finding;
use domain::cluster::Cluster;
use domain::placement::{
    ClusterGroup, GroupConflict, INVALID_GROUP, describe_group_conflicts, find_conflicting_groups,
    find_group_conflicts,
};
use store::Tx;

use crate::Error;

/// Most findings of one change.
const MAX_FINDINGS: usize = 10;

/// Rejects the clusters that a changed group newly shares with another one, although one of both is exclusive. The caller has locked the
/// changes of groups.
pub(super) async fn check_group_change(
    tx: &mut Tx,
    before: Option<&ClusterGroup>,
    group: &ClusterGroup,
) -> Result<Vec<Finding>, Error> {
    let others = list_concerned(tx, group).await?;
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let clusters = store::cluster::list_all(tx).await?;
    Ok(describe_new_conflicts(before, group, &others, &clusters))
}

/// The conflicts with other groups that a changed group has and did not have before, as findings.
pub(super) fn describe_new_conflicts(
    before: Option<&ClusterGroup>,
    group: &ClusterGroup,
    others: &[ClusterGroup],
    clusters: &[Cluster],
) -> Vec<Finding> {
    let known = before.map(|before| find_group_conflicts(before, others, clusters)).unwrap_or_default();
    let found = find_group_conflicts(group, others, clusters);
    let describe = |GroupConflict { cluster, group: other }: &GroupConflict| {
        let message = format!("member cluster is already part of a cluster group: {other} has {cluster}.");
        let hint = "Remove it from that group first, or make neither group exclusive.";
        let path = if group.members.contains(cluster) { "/members" } else { "/selector" };
        Finding::error(INVALID_GROUP, message, hint).with_path(path)
    };
    found.difference(&known).take(MAX_FINDINGS).map(describe).collect()
}

/// Rejects labels with which a cluster would newly be in two groups of which one is exclusive. A caller that stores the labels has locked the
/// changes of groups.
pub(crate) async fn check_label_change(
    tx: &mut Tx,
    before: &Cluster,
    cluster: &Cluster,
) -> Result<Vec<Finding>, Error> {
    let groups = store::group::list(tx).await?;
    let known: BTreeSet<(String, String)> = find_conflicting_groups(&groups, before);
    let found = find_conflicting_groups(&groups, cluster);
    let describe = |(one, other): &(String, String)| {
        let name = &cluster.name;
        let message = format!(
            "With these labels cluster {name} is in the groups {one} and {other}, of which one is exclusive."
        );
        let hint = "Choose labels that only one of them selects, or change the selector or the members of a group first.";
        Finding::error(INVALID_GROUP, message, hint).with_path("/labels")
    };
    Ok(found.difference(&known).take(MAX_FINDINGS).map(describe).collect())
}

/// The clusters that a stored group has in common with another one although one of both is exclusive.
pub(super) async fn load_conflicts(tx: &mut Tx, group: &ClusterGroup) -> Result<Vec<Finding>, Error> {
    let others = list_concerned(tx, group).await?;
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let clusters = store::cluster::list_all(tx).await?;
    Ok(describe_group_conflicts(&find_group_conflicts(group, &others, &clusters)))
}

/// The same, if all clusters are loaded already.
pub(super) async fn load_conflicts_among(
    tx: &mut Tx,
    group: &ClusterGroup,
    clusters: &[Cluster],
) -> Result<Vec<Finding>, Error> {
    let others = list_concerned(tx, group).await?;
    Ok(describe_group_conflicts(&find_group_conflicts(group, &others, clusters)))
}

/// The other groups that may share no cluster with this one.
async fn list_concerned(tx: &mut Tx, group: &ClusterGroup) -> Result<Vec<ClusterGroup>, Error> {
    let mut others = match group.exclusive {
        true => store::group::list(tx).await?,
        false => store::group::list_exclusive(tx).await?,
    };
    others.retain(|other| other.name != group.name);
    Ok(others)
}
