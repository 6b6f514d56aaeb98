//! Groups and their members in the form of the multi-cluster deployment API (S1-1).

use std::collections::BTreeMap;

use domain::authorization::UserAction;
use domain::cluster::{Cluster, Connectivity};
use domain::deployment::{ClusterGroupRequest, ClusterGroupView, GroupMember, member_status};
use domain::placement::{ClusterGroup, FeatureState, INVALID_GROUP};
use domain::{ClusterId, Finding};
use store::Tx;

use super::exclusive::load_conflicts_among;
use super::{GroupChange, RemovalTiming, group_subject};
use crate::workload::check_if_match;
use crate::{Actor, Error, Hub};

impl Hub {
    /// All groups with their members, by name.
    pub async fn list_group_views(&self) -> Result<Vec<ClusterGroupView>, Error> {
        let mut tx = self.read().await?;
        let clusters = store::cluster::list_all(&mut tx).await?;
        let mut views = Vec::new();
        for group in store::group::list(&mut tx).await? {
            views.push(self.view_group(&mut tx, &group, &clusters, Vec::new()).await?);
        }
        Ok(views)
    }

    /// One group with its members.
    pub async fn get_group_view(&self, name: &str) -> Result<ClusterGroupView, Error> {
        let mut tx = self.read().await?;
        let group = load_group(&mut tx, name).await?;
        let clusters = store::cluster::list_all(&mut tx).await?;
        let findings = load_conflicts_among(&mut tx, &group, &clusters).await?;
        self.view_group(&mut tx, &group, &clusters, findings).await
    }

    /// Creates a group of these clusters, which have to be running.
    ///
    /// # Errors
    /// The name is in use; there is no member; a member does not exist, is unreachable, or is in another exclusive group.
    pub async fn create_group_of(
        &self,
        actor: &Actor,
        request: ClusterGroupRequest,
    ) -> Result<ClusterGroupView, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let ClusterGroupRequest { name, members, exclusive } = request;
        if members.is_empty() {
            let finding = Finding::error(
                INVALID_GROUP,
                "The cluster group has no members.",
                "Add at least one cluster.",
            );
            return Err(Error::Invalid(vec![finding.with_path("/members")]));
        }
        let members = self.load_joining_members(&members, &[]).await?;
        let exclusive = exclusive.unwrap_or_default();
        let group = ClusterGroup { name, members, exclusive, ..ClusterGroup::default() };
        let tx = self.begin_group_creation(actor, &group).await?;
        let change = GroupChange { group, old: None, removal: RemovalTiming::AfterNotice };
        self.store_group_view(tx, actor, change).await
    }

    /// Replaces the members of a group. A cluster that leaves loses the deployments of the group at once (S1-8); one that joins
    /// gets none before they are edited (S1-9). A group without members is deleted: then the result is `None`. `if_match` is the
    /// revision that the change is based on.
    ///
    /// # Errors
    /// There is no such group; its members are locked; a new member does not exist, is unreachable, or is in another
    /// exclusive group.
    pub async fn set_group_members(
        &self,
        actor: &Actor,
        name: &str,
        request: ClusterGroupRequest,
        if_match: Option<i64>,
    ) -> Result<Option<ClusterGroupView>, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let ClusterGroupRequest { name: new_name, members, exclusive } = request;
        let old = self.get_group(name).await?;
        if !new_name.is_empty() && new_name != name {
            let hint = "Create another group, and move the clusters.";
            let finding = Finding::error("G101", "The name of a cluster group can't be changed.", hint);
            return Err(Error::Invalid(vec![finding.with_path("/name")]));
        }
        if members.is_empty() {
            self.delete_group_with_deployments(actor, name, if_match).await?;
            return Ok(None);
        }
        let members = self.load_joining_members(&members, &old.members).await?;
        let mut tx = self.write_groups(actor).await?;
        let old = lock_group(&mut tx, name).await?;
        check_if_match(old.revision, if_match)?;
        let group = ClusterGroup { members, exclusive: exclusive.unwrap_or(old.exclusive), ..old.clone() };
        let change = GroupChange { group, old: Some(old), removal: RemovalTiming::Immediate };
        self.store_group_view(tx, actor, change).await.map(Some)
    }

    /// Stores a group and responds with it in the form of this API, also to a repeated request.
    async fn store_group_view(
        &self,
        mut tx: Tx,
        actor: &Actor,
        change: GroupChange,
    ) -> Result<ClusterGroupView, Error> {
        let (group, effects, status) = self.stage_group(&mut tx, actor, change).await?;
        let clusters = store::cluster::list_all(&mut tx).await?;
        let findings = load_conflicts_among(&mut tx, &group, &clusters).await?;
        let view = self.view_group(&mut tx, &group, &clusters, findings).await?;
        self.commit(tx, effects.with_response(actor, status, &view).with_etag(view.revision)).await?;
        Ok(view)
    }

    /// Deletes a group and its deployments (S1-28). Clusters that are unreachable remove them when they return.
    ///
    /// # Errors
    /// There is no such group; its members are locked; a workload that is no deployment of it references it.
    pub async fn delete_group_with_deployments(
        &self,
        actor: &Actor,
        name: &str,
        if_match: Option<i64>,
    ) -> Result<(), Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let mut tx = self.write_groups(actor).await?;
        let group = lock_group(&mut tx, name).await?;
        check_if_match(group.revision, if_match)?;
        domain::placement::check_membership_change(&group).map_err(domain::actions::ActionUnavailable)?;
        let deployments = self.load_group_deployments(&mut tx, name).await?;
        let names: Vec<&str> = deployments.iter().map(|one| one.workload.name.as_str()).collect();
        let mut others = store::workload::list_names_by_group(&mut tx, name).await?;
        others.retain(|other| !names.contains(&other.as_str()));
        domain::actions::check_delete_group(name, &others)?;
        let mut effects = self.stage_deployment_deletions(&mut tx, actor, &deployments).await?;
        // The events of its deployments come first.
        let message = format!("Cluster group {name} was deleted with its deployments: {}.", names.len());
        tx.describe_audit(group_subject(name).describe(), message);
        effects.append(self.stage_group_deletion(&mut tx, actor, name).await?);
        self.commit(tx, effects.with_empty_response(actor, 204)).await
    }

    async fn view_group(
        &self,
        tx: &mut Tx,
        group: &ClusterGroup,
        clusters: &[Cluster],
        findings: Vec<Finding>,
    ) -> Result<ClusterGroupView, Error> {
        let mut members: BTreeMap<&str, GroupMember> =
            group.members.iter().map(|name| (name.as_str(), GroupMember::not_found(name))).collect();
        for cluster in clusters.iter().filter(|cluster| group.contains(cluster)) {
            members.insert(&cluster.name, GroupMember::from_cluster(cluster));
        }
        let features = self.load_feature_statuses(tx, group).await?;
        let is_listed = |status: &&domain::placement::FeatureStatus| {
            status.feature.enabled || status.reconcile_state != FeatureState::Success
        };
        let enabled = features.iter().filter(is_listed);
        Ok(ClusterGroupView {
            id: group.name.clone(),
            uid: group.name.clone(),
            name: group.name.clone(),
            organization_id: store::project::DEFAULT.to_owned(),
            members: members.into_values().collect(),
            exclusive: group.exclusive,
            enabled_features: enabled.map(|status| status.feature.name.as_str().to_owned()).collect(),
            revision: group.revision,
            findings,
        })
    }

    /// The names of these clusters. Those that are no members yet have to be reachable.
    async fn load_joining_members(
        &self,
        ids: &[ClusterId],
        current: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut tx = self.read().await?;
        let (mut names, mut findings) = (Vec::with_capacity(ids.len()), Vec::new());
        for (index, id) in ids.iter().enumerate() {
            let Some(cluster) = store::cluster::get_by_id(&mut tx, *id).await? else {
                let message = format!("There is no cluster with the id {id}.");
                findings.push((index, message, "Take the ids from GET /api/v1/clusters."));
                continue;
            };
            if cluster.connectivity == Connectivity::Offline && !current.contains(&cluster.name) {
                let status = member_status(cluster.connectivity);
                let message =
                    format!("unable to join member cluster with status {status}: {}.", cluster.name);
                findings.push((index, message, "Add it when it is reachable again."));
            }
            if !names.contains(&cluster.name) {
                names.push(cluster.name);
            }
        }
        let finding = |(index, message, hint): (usize, String, &str)| {
            Finding::error(INVALID_GROUP, message, hint).with_path(format!("/members/{index}"))
        };
        match findings.is_empty() {
            true => Ok(names),
            false => Err(Error::Invalid(findings.into_iter().take(10).map(finding).collect())),
        }
    }
}

/// The group with this name, or [`Error::NotFound`].
pub(crate) async fn load_group(tx: &mut Tx, name: &str) -> Result<ClusterGroup, Error> {
    store::group::get_by_name(tx, name).await?.ok_or_else(|| Error::not_found("cluster group", name))
}

/// The group with this name, locked until the transaction ends, so that no workload begins to refer to it; or
/// [`Error::NotFound`].
pub(crate) async fn lock_group(tx: &mut Tx, name: &str) -> Result<ClusterGroup, Error> {
    store::group::lock(tx, name).await?.ok_or_else(|| Error::not_found("cluster group", name))
}
