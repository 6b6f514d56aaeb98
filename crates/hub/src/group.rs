//! Verbs and queries on cluster groups (S1-1, S1-2): named sets that placements and overrides reference.

use std::collections::HashSet;

use domain::authorization::UserAction;
use domain::event::{EditAction, EventDetail, EventSubject, NewEvent};
use domain::labels::InvalidSelector;
use domain::page::ListQuery;
use domain::placement::{
    ClusterGroup, GroupMembersChange, GroupView, INVALID_GROUP, check_membership_change,
};
use domain::rollup::ReleaseCounts;
use domain::{ClusterId, Finding, WorkloadId, actions, name_check};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

mod candidates;
mod exclusive;
mod feature;
mod member;
mod preview;
mod size;

pub use candidates::GroupCandidateQuery;
pub(crate) use exclusive::check_label_change;
pub(crate) use member::{load_group, lock_group};

/// Maximum static members of one group.
const MEMBERS_MAX: usize = 10_000;

impl Hub {
    /// All groups, by name.
    pub async fn list_groups(&self) -> Result<Vec<ClusterGroup>, Error> {
        let mut tx = self.read().await?;
        Ok(store::group::list(&mut tx).await?)
    }

    /// One group.
    pub async fn get_group(&self, name: &str) -> Result<ClusterGroup, Error> {
        let mut tx = self.read().await?;
        store::group::get_by_name(&mut tx, name).await?.ok_or_else(|| Error::not_found("cluster group", name))
    }

    /// One group with its missing members, how many clusters it matches, the workloads that reference it, and its clusters that are in
    /// another group although one of both is exclusive (G502).
    ///
    /// # Errors
    /// There is no such group.
    pub async fn get_group_details(&self, name: &str) -> Result<GroupView, Error> {
        let group = self.get_group(name).await?;
        let mut tx = self.read().await?;
        let existing = store::cluster::filter_existing_names(&mut tx, &group.members).await?;
        let used_by = store::workload::list_names_by_group(&mut tx, name).await?;
        let findings = exclusive::load_conflicts(&mut tx, &group).await?;
        drop(tx);
        let matching = match &group.selector {
            Some(selector) => {
                let label_selector = selector.to_string();
                self.list_clusters(&ListQuery { label_selector, limit: Some(1), ..ListQuery::default() })
                    .await?
                    .total
            }
            None => 0,
        };
        let missing = group.members.iter().filter(|name| !existing.contains(*name)).cloned().collect();
        Ok(GroupView { group, missing, matching, used_by, findings })
    }

    /// The releases on the clusters of a group, by state.
    ///
    /// # Errors
    /// There is no such group.
    pub async fn count_group_releases(&self, name: &str) -> Result<ReleaseCounts, Error> {
        let group = self.get_group(name).await?;
        let mut tx = self.read().await?;
        let clusters = store::cluster::list_all(&mut tx).await?;
        let members: Vec<ClusterId> =
            clusters.iter().filter(|cluster| group.contains(cluster)).map(|cluster| cluster.id).collect();
        let mut counts = ReleaseCounts::default();
        for of_cluster in store::release::counts_by_cluster(&mut tx, &members).await?.values() {
            counts.add_all(of_cluster);
        }
        Ok(counts)
    }

    /// Creates a group; [`Error::AlreadyExists`] if there is one with its name.
    pub async fn create_group(&self, actor: &Actor, group: ClusterGroup) -> Result<ClusterGroup, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let tx = self.begin_group_creation(actor, &group).await?;
        let group = ClusterGroup { features: Vec::new(), ..group };
        self.store_group(tx, actor, GroupChange { group, old: None, removal: RemovalTiming::AfterNotice })
            .await
    }

    /// A write in which nobody else changes groups.
    async fn write_groups(&self, actor: &Actor) -> Result<store::Tx, Error> {
        let mut tx = self.write_as(actor, UserAction::ChangeGroups).await?;
        store::group::lock_changes(&mut tx).await?;
        Ok(tx)
    }

    /// A transaction in which no group has this name.
    async fn begin_group_creation(&self, actor: &Actor, group: &ClusterGroup) -> Result<store::Tx, Error> {
        let mut tx = self.write_groups(actor).await?;
        if store::group::get_by_name(&mut tx, &group.name).await?.is_some() {
            let message = format!("cluster group already exists with this name: {:?}", group.name);
            return Err(Error::AlreadyExists(message));
        }
        Ok(tx)
    }

    /// Whether there is an exclusive group with this name.
    pub async fn is_exclusive_group(&self, name: &str) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(store::group::get_by_name(&mut tx, name).await?.is_some_and(|group| group.exclusive))
    }

    /// Creates or changes a group, by name; every published workload is placed again. With `expected` the group has to
    /// have that revision: [`Error::RevisionConflict`] otherwise.
    pub async fn save_group(
        &self,
        actor: &Actor,
        group: ClusterGroup,
        expected: Option<i64>,
    ) -> Result<ClusterGroup, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let exclusive = Some(group.exclusive);
        self.put_group(actor, group, exclusive, expected).await
    }

    /// The same, with `exclusive` in place of that of the group; without it, a stored group stays what it is, and a new one is not
    /// exclusive.
    ///
    /// # Errors
    /// As [`Self::save_group`].
    pub async fn put_group(
        &self,
        actor: &Actor,
        group: ClusterGroup,
        exclusive: Option<bool>,
        expected: Option<i64>,
    ) -> Result<ClusterGroup, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let mut tx = self.write_groups(actor).await?;
        let old = store::group::lock(&mut tx, &group.name).await?;
        match (&old, expected) {
            (None, Some(_)) => return Err(Error::not_found("cluster group", &group.name)),
            (Some(old), Some(expected)) if old.revision != expected => {
                return Err(Error::RevisionConflict { current: old.revision });
            }
            _ => {}
        }
        // Features have verbs of their own.
        let features = old.as_ref().map(|old| old.features.clone()).unwrap_or_default();
        let stored = old.as_ref().is_some_and(|old| old.exclusive);
        let group = ClusterGroup { features, exclusive: exclusive.unwrap_or(stored), ..group };
        let change = GroupChange { group, old, removal: RemovalTiming::AfterNotice };
        let (group, effects, _) = self.stage_group(&mut tx, actor, change).await?;
        // Also of a new one.
        self.commit(tx, effects.with_response(actor, 200, &group).with_etag(group.revision)).await?;
        Ok(group)
    }

    /// Changes the members of a group, if it still has the revision `expected`; every published workload is placed again.
    pub async fn change_group_members(
        &self,
        actor: &Actor,
        name: &str,
        change: &GroupMembersChange,
        expected: i64,
    ) -> Result<ClusterGroup, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let group = self.get_group(name).await?;
        let changed = change.apply(&group).map_err(|error| selector_error(&error))?;
        // Rejected if the group was changed since it was read here, too.
        self.save_group(actor, changed, Some(expected)).await
    }

    /// Checks and stores a changed or new group.
    async fn store_group(
        &self,
        mut tx: store::Tx,
        actor: &Actor,
        change: GroupChange,
    ) -> Result<ClusterGroup, Error> {
        let (group, effects, status) = self.stage_group(&mut tx, actor, change).await?;
        self.commit(tx, effects.with_response(actor, status, &group).with_etag(group.revision)).await?;
        Ok(group)
    }

    /// Checks and stores a changed or new group, and requests the removals that need no notice; the caller commits. Returns the
    /// group as it is then, and the status of the response.
    async fn stage_group(
        &self,
        tx: &mut store::Tx,
        actor: &Actor,
        GroupChange { group, old, removal }: GroupChange,
    ) -> Result<(ClusterGroup, CommitEffects, u16), Error> {
        let group = ClusterGroup { members: without_repetitions(&group.members), ..group };
        let mut findings = check_group(&group);
        if findings.is_empty() {
            findings.extend(exclusive::check_group_change(tx, old.as_ref(), &group).await?);
            findings.extend(size::check_all_groups(tx, old.as_ref(), &group).await?);
        }
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let version = old.as_ref().map(|old| old.revision);
        let old = old.unwrap_or_default();
        if (&old.members, &old.selector) != (&group.members, &group.selector) {
            check_membership_change(&old).map_err(actions::ActionUnavailable)?;
        }
        let missing_in = |other: &[String], names: &[String]| -> Vec<String> {
            let other: HashSet<&String> = other.iter().collect();
            names.iter().filter(|name| !other.contains(*name)).cloned().collect()
        };
        let (joined, left) =
            (missing_in(&old.members, &group.members), missing_in(&group.members, &old.members));
        let group = ClusterGroup { revision: version.unwrap_or_default() + 1, ..group };
        match version {
            None => store::group::insert(tx, &group).await?,
            Some(version) if store::group::update(tx, &group, version).await? => {}
            // Another server on the same database changed it.
            Some(current) => return Err(Error::RevisionConflict { current }),
        }
        if removal == RemovalTiming::Immediate {
            self.request_removals(tx, &group.name, &left).await?;
        }
        let now = self.clock().now();
        store::queue::PLACER.mark_all(tx, now).await?;
        let detail =
            EventDetail::ClusterGroup { name: group.name.clone(), action: EditAction::Saved, joined, left };
        let event = NewEvent::from_detail(detail, &actor.name, group_subject(&group.name), now);
        let status = if version.is_none() { 201 } else { 200 };
        Ok((group, CommitEffects::with_event_for_placer(event), status))
    }

    /// Lets the deployments of a group leave these clusters without notice (S1-8).
    async fn request_removals(
        &self,
        tx: &mut store::Tx,
        group: &str,
        clusters: &[String],
    ) -> Result<(), Error> {
        let mut ids: Vec<ClusterId> = Vec::with_capacity(clusters.len());
        for name in clusters {
            ids.extend(store::cluster::get_by_name(tx, name).await?.map(|cluster| cluster.id));
        }
        if ids.is_empty() {
            return Ok(());
        }
        let deployments = self.load_group_deployments(tx, group).await?;
        let workloads: Vec<WorkloadId> = deployments.iter().map(|one| one.workload.id).collect();
        self.lock_workloads(tx, &workloads).await?;
        for workload in workloads {
            for release in store::release::list_all_by_workload(tx, workload).await? {
                if release.is_present() && ids.contains(&release.cluster()) {
                    let now = self.clock().now();
                    store::pending_removal::request(tx, workload, release.cluster(), now).await?;
                }
            }
        }
        Ok(())
    }

    /// Deletes a group. Rejected while a workload references it: its clusters would lose that workload or its overrides.
    pub async fn delete_group(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let mut tx = self.write_groups(actor).await?;
        let effects = self.stage_group_deletion(&mut tx, actor, name).await?;
        self.commit(tx, effects.with_empty_response(actor, 204)).await
    }

    /// Deletes a group; the caller commits. The group is locked before its references are read: a publish that refers to it is
    /// either seen, or finds no group.
    async fn stage_group_deletion(
        &self,
        tx: &mut store::Tx,
        actor: &Actor,
        name: &str,
    ) -> Result<CommitEffects, Error> {
        lock_group(tx, name).await?;
        let referenced_by = store::workload::list_names_by_group(tx, name).await?;
        actions::check_delete_group(name, &referenced_by)?;
        if !store::group::delete(tx, name).await? {
            return Err(Error::not_found("cluster group", name));
        }
        let detail = EventDetail::ClusterGroup {
            name: name.to_owned(),
            action: EditAction::Deleted,
            joined: Vec::new(),
            left: Vec::new(),
        };
        let now = self.clock().now();
        let event = NewEvent::from_detail(detail, &actor.name, group_subject(name), now);
        Ok(CommitEffects::with_event(event))
    }
}

/// A group as the subject of an event.
fn group_subject(name: &str) -> EventSubject {
    EventSubject::object("cluster group", name)
}

/// G502: a label selector that can't be parsed.
fn selector_error(error: &InvalidSelector) -> Error {
    let hint = "Write it as env=prod,region in (eu,us),!legacy.";
    Error::Invalid(vec![Finding::error(INVALID_GROUP, format!("{error}."), hint).with_path("/selector")])
}

/// When a cluster that leaves a group loses its deployments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemovalTiming {
    /// After the notice in which the removal can be cancelled (E-6).
    AfterNotice,
    /// At once.
    Immediate,
}

/// A group to be stored.
struct GroupChange {
    group: ClusterGroup,
    /// The stored one; `None` for a new group.
    old: Option<ClusterGroup>,
    removal: RemovalTiming,
}

/// The names in their order, each of them once.
fn without_repetitions(names: &[String]) -> Vec<String> {
    let mut found: HashSet<&String> = HashSet::new();
    names.iter().filter(|name| found.insert(*name)).cloned().collect()
}

fn check_group(group: &ClusterGroup) -> Vec<Finding> {
    let mut findings: Vec<Finding> = name_check::check_label("Group name", &group.name)
        .map(|finding| finding.with_path("/name"))
        .into_iter()
        .collect();
    let invalid = group.members.iter().filter_map(|member| name_check::check_label("Cluster name", member));
    findings.extend(invalid.take(10).map(|finding| finding.with_path("/members")));
    if group.members.len() > MEMBERS_MAX {
        let message = format!(
            "The cluster group has {} members, which is more than one group can have.",
            group.members.len()
        );
        let hint = format!("List at most {MEMBERS_MAX} members, or use a selector.");
        findings.push(Finding::error(INVALID_GROUP, message, hint).with_path("/members"));
    }
    let locked = domain::chart::check_values("The locked values", &group.locked_values);
    findings.extend(locked.map(|finding| finding.with_path("/lockedValues")));
    if group.selector.as_ref().is_some_and(domain::labels::LabelSelector::is_empty) {
        let message = "An empty selector would make every cluster a member.";
        findings.push(
            Finding::error(INVALID_GROUP, message, "Omit the selector, or specify a label.")
                .with_path("/selector"),
        );
    }
    findings
}
