//! Verbs and queries on cluster groups (S1-1, S1-2): named sets that placements and overrides reference.

use domain::event::{EditAction, EventDetail, EventSubject, NewEvent};
use domain::page::ListQuery;
use domain::placement::{ClusterGroup, GroupView};
use domain::{Finding, actions, name_check};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

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

    /// One group with its missing members, the clusters it matches and the workloads that reference it.
    pub async fn get_group_details(&self, name: &str) -> Result<GroupView, Error> {
        let group = self.get_group(name).await?;
        let mut tx = self.read().await?;
        let existing = store::cluster::filter_existing_names(&mut tx, &group.members).await?;
        let used_by = store::workload::list_names_by_group(&mut tx, name).await?;
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
        Ok(GroupView { group, missing, matching, used_by })
    }

    /// Creates a group; [`Error::AlreadyExists`] if there is one with its name.
    pub async fn create_group(&self, actor: &Actor, group: ClusterGroup) -> Result<ClusterGroup, Error> {
        let mut tx = self.write().await?;
        if store::group::get_by_name(&mut tx, &group.name).await?.is_some() {
            return Err(Error::AlreadyExists(format!("Cluster group {:?} already exists.", group.name)));
        }
        self.store_group(tx, actor, group, None).await
    }

    /// Creates or changes a group, by name; every published workload is placed again. With `expected` the group has to
    /// have that revision: [`Error::RevisionConflict`] otherwise.
    pub async fn save_group(
        &self,
        actor: &Actor,
        group: ClusterGroup,
        expected: Option<i64>,
    ) -> Result<ClusterGroup, Error> {
        let mut tx = self.write().await?;
        let old = store::group::get_by_name(&mut tx, &group.name).await?.map(|old| old.revision);
        match (old, expected) {
            (None, Some(_)) => return Err(Error::not_found("cluster group", &group.name)),
            (Some(current), Some(expected)) if current != expected => {
                return Err(Error::RevisionConflict { current });
            }
            _ => {}
        }
        self.store_group(tx, actor, group, old).await
    }

    /// Replaces the group that has the revision `old`, or inserts a new one.
    async fn store_group(
        &self,
        mut tx: store::Tx,
        actor: &Actor,
        group: ClusterGroup,
        old: Option<i64>,
    ) -> Result<ClusterGroup, Error> {
        let findings = check_group(&group);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let group = ClusterGroup { revision: old.unwrap_or_default() + 1, ..group };
        match old {
            None => store::group::insert(&mut tx, &group).await?,
            Some(old) if store::group::update(&mut tx, &group, old).await? => {}
            // Another server on the same database changed it.
            Some(current) => return Err(Error::RevisionConflict { current }),
        }
        let now = self.clock().now();
        store::queue::PLACER.mark_all(&mut tx, now).await?;
        let detail = EventDetail::ClusterGroup { name: group.name.clone(), action: EditAction::Saved };
        let event = NewEvent::from_detail(detail, &actor.name, EventSubject::default(), now);
        let status = if old.is_none() { 201 } else { 200 };
        self.commit(tx, CommitEffects::with_event_for_placer(event).with_response(actor, status, &group))
            .await?;
        Ok(group)
    }

    /// Deletes a group. Rejected while a workload references it: its clusters would lose that workload or its overrides.
    pub async fn delete_group(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let referenced_by = store::workload::list_names_by_group(&mut tx, name).await?;
        actions::check_delete_group(name, &referenced_by)?;
        if !store::group::delete(&mut tx, name).await? {
            return Err(Error::not_found("cluster group", name));
        }
        let detail = EventDetail::ClusterGroup { name: name.to_owned(), action: EditAction::Deleted };
        let now = self.clock().now();
        let event = NewEvent::from_detail(detail, &actor.name, EventSubject::default(), now);
        self.commit(tx, CommitEffects::with_event(event)).await
    }
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
        findings.push(Finding::error("G502", message, hint).with_path("/members"));
    }
    if group.selector.as_ref().is_some_and(domain::labels::LabelSelector::is_empty) {
        let message = "An empty selector would make every cluster a member.";
        findings.push(
            Finding::error("G502", message, "Omit the selector, or specify a label.").with_path("/selector"),
        );
    }
    findings
}
