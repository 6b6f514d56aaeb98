//! What a change of a group would do to the workloads that it places.

use std::collections::HashSet;

use domain::ClusterId;
use domain::cluster::Cluster;
use domain::placement::{
    ClusterGroup, GroupEffect, GroupMembersChange, GroupMembershipKind, GroupPreview, decide,
};
use domain::plan::BlastRadius;
use store::run_blocking_in_place;

use super::exclusive::describe_new_conflicts;
use crate::placement::PublishedPlacement;
use crate::{Error, Hub};

/// Most workloads for which the effect is computed: each is placed twice.
const WORKLOADS_MAX: usize = 50;

/// A workload with its published placement.
struct NamedPlacement {
    name: String,
    published: PublishedPlacement,
}

impl Hub {
    /// What a change of the members of a group would do.
    ///
    /// # Errors
    /// There is no such group; the selector is not valid; a workload can't be read, so its effect is not known.
    pub async fn preview_group_members(
        &self,
        name: &str,
        change: &GroupMembersChange,
    ) -> Result<GroupPreview, Error> {
        let group = self.get_group(name).await?;
        let changed = change.apply(&group).map_err(|error| super::selector_error(&error))?;
        self.preview_group(changed).await
    }

    /// What it would do to save this group, and why that would be rejected.
    ///
    /// # Errors
    /// A workload can't be read, so its effect is not known.
    pub async fn preview_group(&self, changed: ClusterGroup) -> Result<GroupPreview, Error> {
        let mut tx = self.read().await?;
        let groups = store::group::list(&mut tx).await?;
        let clusters = store::cluster::list_all(&mut tx).await?;
        let names = store::workload::list_names_by_group(&mut tx, &changed.name).await?;
        drop(tx);
        let (placed, not_evaluated) = self.load_placed_workloads(names, &changed.name).await?;
        let preview = run_blocking_in_place(|| evaluate(&clusters, groups, changed, &placed));
        Ok(GroupPreview { not_evaluated, ..preview })
    }

    /// Those of these workloads whose published placement refers to this group, and how many more names there are.
    async fn load_placed_workloads(
        &self,
        names: Vec<String>,
        group: &str,
    ) -> Result<(Vec<NamedPlacement>, u32), Error> {
        let refers = |groups: &[String]| groups.iter().any(|one| one == group);
        let mut placed = Vec::new();
        let mut left = names.into_iter();
        for name in left.by_ref().take(WORKLOADS_MAX) {
            let mut tx = self.read().await?;
            let head = store::workload::get_head_by_name(&mut tx, self.project(), &name).await;
            let head = head.map_err(|error| Error::from(error).with_unreadable_workload(&name))?;
            drop(tx);
            // One that was deleted meanwhile loses nothing.
            let Some(head) = head else { continue };
            let Some(published) = self.read_published_placement(head.id).await? else { continue };
            if published.placement.predicates.iter().any(|predicate| refers(&predicate.groups)) {
                placed.push(NamedPlacement { name, published });
            }
        }
        Ok((placed, u32::try_from(left.count()).unwrap_or(u32::MAX)))
    }
}

fn evaluate(
    clusters: &[Cluster],
    groups: Vec<ClusterGroup>,
    changed: ClusterGroup,
    placed: &[NamedPlacement],
) -> GroupPreview {
    let none = ClusterGroup::default();
    let before = groups.iter().find(|group| group.name == changed.name).unwrap_or(&none);
    let members = |group: &ClusterGroup| -> HashSet<String> {
        let of_group = group.memberships(clusters).filter(|(_, kind)| *kind != GroupMembershipKind::None);
        of_group.map(|(cluster, _)| cluster.name.clone()).collect()
    };
    let (now, after) = (members(before), members(&changed));
    let difference = |a: &HashSet<String>, b: &HashSet<String>| -> Vec<String> {
        let mut names: Vec<String> = a.difference(b).cloned().collect();
        names.sort();
        names
    };
    let (joining, leaving) = (difference(&after, &now), difference(&now, &after));
    let mut findings = super::check_group(&changed);
    if findings.is_empty() {
        findings = describe_new_conflicts(Some(before), &changed, &groups, clusters);
    }
    let mut changed_groups = groups.clone();
    changed_groups.retain(|group| group.name != changed.name);
    changed_groups.push(changed);
    let effects = placed.iter().filter(|_| !joining.is_empty() || !leaving.is_empty());
    let effects = effects.map(|workload| evaluate_workload(workload, clusters, (&groups, &changed_groups)));
    let workloads = effects.filter(|one| !one.losing.is_empty() || !one.gaining.is_empty()).collect();
    let count = |names: &HashSet<String>| u32::try_from(names.len()).unwrap_or(u32::MAX);
    GroupPreview {
        members: count(&now),
        members_after: count(&after),
        joining,
        leaving,
        workloads,
        not_evaluated: 0,
        findings,
    }
}

/// The clusters that a workload loses or gains by the change, as a placement before and after it says.
fn evaluate_workload(
    NamedPlacement { name, published: PublishedPlacement { placement, current } }: &NamedPlacement,
    clusters: &[Cluster],
    (groups, changed): (&[ClusterGroup], &[ClusterGroup]),
) -> GroupEffect {
    let running: HashSet<ClusterId> = current.iter().copied().collect();
    let before = decide(placement, clusters, groups, current);
    let after = decide(placement, clusters, changed, current);
    let already: HashSet<String> = BlastRadius::from_decision(&before, &running).losing.into_iter().collect();
    let mut losing = BlastRadius::from_decision(&after, &running).losing;
    losing.retain(|cluster| !already.contains(cluster));
    let matched: HashSet<ClusterId> = before.selected().map(|one| one.cluster).collect();
    let is_new = |cluster: &ClusterId| !matched.contains(cluster) && !running.contains(cluster);
    let gaining = after.selected().filter(|one| is_new(&one.cluster)).map(|one| one.name.clone());
    GroupEffect {
        workload: name.clone(),
        losing,
        gaining: gaining.collect(),
        new_members: placement.new_members,
    }
}
