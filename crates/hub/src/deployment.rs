//! Deployments of a chart to a cluster group: the verbs of workloads in the form of the multi-cluster deployment API
//! (S1-10 … S1-23). A deployment is the workload of one chart and one group ([`domain::deployment`]).

use domain::deployment::{DeploymentResult, TargetClusterOutcome, deployment_group, describe_failures};
use domain::operation::OperationStatus;
use domain::placement::{ClusterGroup, Decision, GroupFeatureName};
use domain::workload::{Intent, Revision, Workload, WorkloadSpec};
use domain::{ClusterId, Finding, OperationId};
use store::Tx;
use tokio::time::Instant;

use crate::actor::Actor;
use crate::group::load_group;
use crate::operation::AwaitedOperation;
use crate::{Error, Hub};

mod create;
mod delete;
mod release_name;
mod sync;
mod update;
mod view;

/// A deployment as it is stored.
pub(crate) struct Deployment {
    /// Its workload.
    pub workload: Workload,
    /// The published revision; `None` before the first publish.
    pub published: Option<Revision>,
}

impl Deployment {
    /// What is published, or the draft before the first publish.
    pub fn spec(&self) -> &WorkloadSpec {
        self.published.as_ref().map_or(&self.workload.draft, |revision| &revision.spec)
    }

    /// Name of the Helm release: that of the source, or the name of the workload.
    pub fn release_name(&self) -> &str {
        let workload = self.workload.name.as_str();
        self.spec().source.chart().map_or(workload, |source| source.release_name_or(workload))
    }

    /// The group that it is a deployment of; `None` for any other workload.
    fn group(&self) -> Option<&str> {
        deployment_group(self.spec())
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.workload.intent == Intent::Deleting
    }
}

impl Hub {
    /// The deployments of a group, by name; also those being deleted.
    pub(crate) async fn load_group_deployments(
        &self,
        tx: &mut Tx,
        group: &str,
    ) -> Result<Vec<Deployment>, Error> {
        let mut found = Vec::new();
        for name in store::workload::list_names_mentioning_group(tx, group).await? {
            let named = self.load_as_deployment(tx, &name).await?;
            found.extend(named.filter(|deployment| deployment.group() == Some(group)));
        }
        Ok(found)
    }

    /// The deployment of the group with this release name: the workload of this name, or the first one with a release name of its own.
    async fn find_deployment(
        &self,
        tx: &mut Tx,
        group: &str,
        name: &str,
    ) -> Result<Option<Deployment>, Error> {
        let is_it = |one: &Deployment| one.group() == Some(group) && one.release_name() == name;
        if let Some(found) = self.load_as_deployment(tx, name).await?.filter(is_it) {
            return Ok(Some(found));
        }
        Ok(self.load_group_deployments(tx, group).await?.into_iter().find(is_it))
    }

    /// The workload of this name with its published revision, whether or not it is a deployment.
    async fn load_as_deployment(&self, tx: &mut Tx, name: &str) -> Result<Option<Deployment>, Error> {
        let found = store::workload::get_by_name(tx, self.project(), name).await;
        let found = found.map_err(|error| Error::from(error).with_unreadable_workload(name))?;
        let Some(workload) = found else { return Ok(None) };
        let published = match workload.published {
            Some(number) => Some(store::revision::get_existing(tx, workload.id, number).await?),
            None => None,
        };
        Ok(Some(Deployment { workload, published }))
    }

    /// The deployment with this release name.
    ///
    /// # Errors
    /// There is no such group, or it has no such deployment.
    async fn load_deployment(&self, tx: &mut Tx, group: &str, name: &str) -> Result<Deployment, Error> {
        load_group(tx, group).await?;
        let found = self.find_deployment(tx, group, name).await?;
        found.ok_or_else(|| Error::not_found("deployment", name))
    }

    /// The names of the clusters in a group.
    ///
    /// # Errors
    /// There is no such group, or its feature `deployment` is disabled.
    async fn load_deployment_targets(&self, tx: &mut Tx, group: &str) -> Result<Vec<String>, Error> {
        let group = load_group(tx, group).await?;
        check_deployments_enabled(&group)?;
        let clusters = store::cluster::list_all(tx).await?;
        Ok(clusters
            .into_iter()
            .filter(|cluster| group.contains(cluster))
            .map(|cluster| cluster.name)
            .collect())
    }

    /// Waits until each cluster has an outcome, at the latest until `deadline`, and describes what failed. The `selected` clusters have none while
    /// they are not placed.
    async fn wait_for_deployment(
        &self,
        release_name: &str,
        (operation, selected): (OperationId, &[String]),
        deadline: Instant,
    ) -> Result<DeploymentResult, Error> {
        let AwaitedOperation { view, is_placed } = self.wait_for_operation(operation, deadline).await?;
        let mut target_clusters: Vec<TargetClusterOutcome> =
            view.target_clusters.into_iter().map(TargetClusterOutcome::from).collect();
        if !is_placed {
            let mut tx = self.read().await?;
            let mut clusters = store::cluster::list_all(&mut tx).await?;
            clusters.retain(|cluster| {
                selected.contains(&cluster.name)
                    && !target_clusters.iter().any(|target| target.cluster_id == cluster.id)
            });
            let pending = clusters.into_iter().map(|cluster| pending_target(cluster.id, cluster.name));
            target_clusters.extend(pending);
            target_clusters.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
        }
        Ok(DeploymentResult {
            release_name: release_name.to_owned(),
            operation: Some(operation),
            message: describe_failures(release_name, &target_clusters),
            target_clusters,
            findings: Vec::new(),
        })
    }
}

/// The last operation of a deployment.
async fn load_latest_operation(tx: &mut Tx, deployment: &Deployment) -> Result<OperationId, Error> {
    let Workload { id, name, .. } = &deployment.workload;
    let latest = store::operation::get_latest(tx, *id).await?;
    latest.map(|operation| operation.id).ok_or_else(|| Error::not_found("operation", name))
}

/// Rejects a deployment to a group whose feature `deployment` is disabled.
pub(crate) fn check_deployments_enabled(group: &ClusterGroup) -> Result<(), Error> {
    if group.feature(GroupFeatureName::Deployment).enabled {
        return Ok(());
    }
    let why = format!("Feature deployment of group {:?} is disabled. Enable it first.", group.name);
    Err(domain::actions::ActionUnavailable(why).into())
}

/// The result of a request whose operation has begun: no cluster has an outcome yet.
pub(crate) fn started_deployment(
    name: &str,
    decision: &Decision,
    operation: OperationId,
    findings: Vec<Finding>,
) -> DeploymentResult {
    DeploymentResult {
        release_name: name.to_owned(),
        operation: Some(operation),
        message: String::new(),
        target_clusters: list_pending_targets(decision),
        findings,
    }
}

/// The selected clusters, none of which has an outcome.
fn list_pending_targets(decision: &Decision) -> Vec<TargetClusterOutcome> {
    decision
        .selected()
        .map(|evaluation| pending_target(evaluation.cluster, evaluation.name.clone()))
        .collect()
}

/// A cluster without an outcome.
fn pending_target(cluster_id: ClusterId, cluster_name: String) -> TargetClusterOutcome {
    TargetClusterOutcome { cluster_id, cluster_name, status: OperationStatus::Pending, error: None }
}

/// The actor without its idempotency key, for a verb whose response is not that of the request.
fn without_request_key(actor: &Actor) -> Actor {
    Actor { request_key: None, ..actor.clone() }
}
