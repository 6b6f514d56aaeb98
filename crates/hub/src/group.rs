//! Verbs and queries on cluster groups (S1-1, S1-2): named sets that placements and overrides ask for.

use domain::event::{EventKind, NewEvent};
use domain::page::ListQuery;
use domain::placement::{ClusterGroup, GroupView};
use domain::{Finding, can, name};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

/// Static members of one group at most.
const MEMBERS_MAX: usize = 10_000;

impl Hub {
    /// All groups, by name.
    pub async fn group_list(&self) -> Result<Vec<ClusterGroup>, Error> {
        let mut tx = self.read().await?;
        Ok(store::group::all(&mut tx).await?)
    }

    /// One group.
    pub async fn group_view(&self, name: &str) -> Result<ClusterGroup, Error> {
        let mut tx = self.read().await?;
        store::group::by_name(&mut tx, name).await?.ok_or_else(|| Error::not_found("cluster group", name))
    }

    /// One group, and what it stands for now.
    pub async fn group_look(&self, name: &str) -> Result<GroupView, Error> {
        let group = self.group_view(name).await?;
        let mut tx = self.read().await?;
        let there = store::cluster::names_taken(&mut tx, &group.members).await?;
        let asked_by = store::workload::asking_for_group(&mut tx, name).await?;
        drop(tx);
        let matching = match &group.selector {
            Some(selector) => {
                let label_selector = selector.to_string();
                self.cluster_list(&ListQuery { label_selector, limit: Some(1), ..ListQuery::default() })
                    .await?
                    .total
            }
            None => 0,
        };
        let missing = group.members.iter().filter(|name| !there.contains(*name)).cloned().collect();
        Ok(GroupView { group, missing, matching, asked_by })
    }

    /// Makes a group; [`Error::Exists`] if there is one with its name.
    pub async fn group_create(&self, actor: &Actor, group: ClusterGroup) -> Result<ClusterGroup, Error> {
        let mut tx = self.write().await?;
        if store::group::by_name(&mut tx, &group.name).await?.is_some() {
            return Err(Error::Exists(format!("There is a cluster group {:?} already.", group.name)));
        }
        self.keep(tx, actor, group, None).await
    }

    /// Makes a group or changes it, by name; every published workload is placed anew. With `expected` it has to be there
    /// in that revision: [`Error::Changed`] if somebody changed it meanwhile.
    pub async fn group_save(
        &self,
        actor: &Actor,
        group: ClusterGroup,
        expected: Option<i64>,
    ) -> Result<ClusterGroup, Error> {
        let mut tx = self.write().await?;
        let old = store::group::by_name(&mut tx, &group.name).await?.map(|old| old.revision);
        match (old, expected) {
            (None, Some(_)) => return Err(Error::not_found("cluster group", &group.name)),
            (Some(current), Some(expected)) if current != expected => return Err(Error::Changed { current }),
            _ => {}
        }
        self.keep(tx, actor, group, old).await
    }

    /// Stores a group in the place of the one with the revision `old`, or as a new one.
    async fn keep(
        &self,
        mut tx: store::Tx,
        actor: &Actor,
        group: ClusterGroup,
        old: Option<i64>,
    ) -> Result<ClusterGroup, Error> {
        let findings = check(&group);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let group = ClusterGroup { revision: old.unwrap_or_default() + 1, ..group };
        match old {
            None => store::group::insert(&mut tx, &group).await?,
            Some(old) if store::group::update(&mut tx, &group, old).await? => {}
            // Two servers on one database.
            Some(current) => return Err(Error::Changed { current }),
        }
        store::queue::PLACER.mark_everything(&mut tx, self.clock().now()).await?;
        let message = format!("Cluster group {} was saved.", group.name);
        let event = NewEvent::new(EventKind::ClusterEdited, &actor.name, message);
        let status = if old.is_none() { 201 } else { 200 };
        self.commit(tx, Done::dirty_with(event).answering(actor, status, &group)).await?;
        Ok(group)
    }

    /// Forgets a group. Refused while a workload asks for it: its clusters would lose that workload, or what differs there.
    pub async fn group_delete(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let asking = store::workload::asking_for_group(&mut tx, name).await?;
        can::delete_group(name, &asking)?;
        if !store::group::delete(&mut tx, name).await? {
            return Err(Error::not_found("cluster group", name));
        }
        let message = format!("Cluster group {name} was deleted.");
        let event = NewEvent::new(EventKind::ClusterEdited, &actor.name, message);
        self.commit(tx, Done::with(event)).await
    }
}

fn check(group: &ClusterGroup) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        name::check_label("Group name", &group.name).map(|finding| finding.at("/name")).into_iter().collect();
    let wrong = group.members.iter().filter_map(|member| name::check_label("Cluster name", member));
    findings.extend(wrong.take(10).map(|finding| finding.at("/members")));
    if group.members.len() > MEMBERS_MAX {
        let message = format!("{} members are too many for one group.", group.members.len());
        let hint = format!("Name at most {MEMBERS_MAX}, or use a selector.");
        findings.push(Finding::error("G502", message, hint).at("/members"));
    }
    if group.selector.as_ref().is_some_and(domain::labels::Selector::is_empty) {
        let message = "An empty selector would make every cluster a member.";
        findings.push(
            Finding::error("G502", message, "Leave the selector out, or name a label.").at("/selector"),
        );
    }
    findings
}
