//! Deployments as the API shows them (S1-19, S1-20).

use std::collections::{BTreeMap, HashMap};

use domain::authorization::UserAction;
use domain::deployment::{
    DeliveryKind, DeploymentRevision, DeploymentStatus, DeploymentSummary, DeploymentView,
    TargetClusterStatus, is_stale, list_value_overrides, read_chart_values,
};
use domain::page::ListQuery;
use domain::release::Release;
use domain::workload::{Revision, WorkloadSpec};
use domain::{ClusterId, WorkloadId};
use store::Tx;

use super::Deployment;
use crate::group::load_group;
use crate::operation::list_publish_operations;
use crate::{Actor, Error, Hub};

/// Revisions in the history of a deployment, as many as Helm retains by default.
const MAX_HISTORY: u32 = 10;

impl Hub {
    /// The deployments of a group, by release name.
    ///
    /// # Errors
    /// There is no such group.
    pub async fn list_deployments(&self, group: &str) -> Result<Vec<DeploymentSummary>, Error> {
        let mut tx = self.read().await?;
        load_group(&mut tx, group).await?;
        let all = self.load_group_deployments(&mut tx, group).await?;
        Ok(all.iter().map(summarize).collect())
    }

    /// One deployment with the state of each cluster, as this user may read its values.
    ///
    /// # Errors
    /// There is no such deployment in the group.
    pub async fn get_deployment(
        &self,
        actor: &Actor,
        group: &str,
        name: &str,
    ) -> Result<DeploymentView, Error> {
        actor.authorize(UserAction::View)?;
        let mut tx = self.read().await?;
        let deployment = self.load_deployment(&mut tx, group, name).await?;
        let kind = load_delivery_kind(&mut tx, &deployment).await?;
        let target_clusters = load_target_clusters(&mut tx, &deployment, kind).await?;
        let history = load_history(&mut tx, &deployment, kind).await?;
        let spec = deployment.spec();
        drop(tx);
        let description = self.load_chart_description(spec).await?;
        let values = spec.source.chart().map(|source| read_chart_values(&source.values));
        let view = DeploymentView {
            summary: summarize(&deployment),
            description,
            values: values.unwrap_or_default(),
            value_overrides: list_value_overrides(spec),
            target_clusters,
            history,
        };
        let content = (spec.source.clone(), view);
        Ok(self.hide_secrets(actor, content).await?.1)
    }

    /// The chart's description of itself; empty if it has none, or is not stored any more.
    async fn load_chart_description(&self, spec: &WorkloadSpec) -> Result<String, Error> {
        let Some(source) = spec.source.chart() else { return Ok(String::new()) };
        let Some(reference) = source.reference() else { return Ok(String::new()) };
        let chart = self.find_stored_chart(reference, &source.version).await?;
        Ok(chart.map(|chart| chart.description).unwrap_or_default())
    }
}

fn summarize(deployment: &Deployment) -> DeploymentSummary {
    let spec = deployment.spec();
    let (chart, version) =
        spec.source.chart().map(|one| (one.chart.clone(), one.version.clone())).unwrap_or_default();
    DeploymentSummary {
        release_name: deployment.release_name().to_owned(),
        chart_name: chart.rsplit('/').next().unwrap_or_default().to_owned(),
        chart,
        chart_version: version,
        version: deployment.published.as_ref().map_or(0, |one| one.number),
        namespace: spec.namespace.clone(),
        created_at: deployment.workload.created_at,
        updated_at: deployment.workload.updated_at,
    }
}

/// What is being done with a deployment: its last publish restored an earlier revision, or it is being deleted.
async fn load_delivery_kind(tx: &mut Tx, deployment: &Deployment) -> Result<DeliveryKind, Error> {
    let published = deployment.published.as_ref().map(|revision| revision.number);
    if deployment.is_deleting() {
        return Ok(DeliveryKind::Deletion { revision: published });
    }
    let Some(revision) = published else { return Ok(DeliveryKind::Upgrade) };
    let publishes = store::operation::list_publishes(tx, deployment.workload.id, revision, revision).await?;
    let is_rollback = publishes.iter().any(|operation| operation.restored_revision.is_some());
    Ok(if is_rollback { DeliveryKind::Rollback { revision } } else { DeliveryKind::Upgrade })
}

/// The newest revisions, newest first.
async fn load_history(
    tx: &mut Tx,
    deployment: &Deployment,
    kind: DeliveryKind,
) -> Result<Vec<DeploymentRevision>, Error> {
    let workload = deployment.workload.id;
    let query = ListQuery { limit: Some(MAX_HISTORY), ..ListQuery::default() };
    let revisions = store::revision::list(tx, workload, &query).await?.items;
    let numbers: Vec<u32> = revisions.iter().map(|revision| revision.number).collect();
    let publishes = list_publish_operations(tx, workload, &numbers).await?;
    let current = deployment.published.as_ref().map(|revision| revision.number);
    let show = |revision: Revision| {
        let publish = publishes.iter().find(|operation| operation.revision == Some(revision.number));
        let is_current = current == Some(revision.number);
        let counts = publish.map(|operation| &operation.counts);
        DeploymentRevision {
            version: revision.number,
            updated_at: revision.created_at,
            status: DeploymentStatus::from_publish(is_current, counts, kind),
            chart_version: revision.spec.source.chart().map(|one| one.version.clone()).unwrap_or_default(),
            description: revision.message,
        }
    };
    Ok(revisions.into_iter().map(show).collect())
}

/// The clusters that have the deployment, are to have it, or are losing it, and deleted ones that still have it; by name.
async fn load_target_clusters(
    tx: &mut Tx,
    deployment: &Deployment,
    kind: DeliveryKind,
) -> Result<Vec<TargetClusterStatus>, Error> {
    let workload = deployment.workload.id;
    let releases = store::release::list_all_by_workload(tx, workload).await?;
    let status_of = |release: Release| {
        let status = DeploymentStatus::from_release(&release, kind)?;
        Some((release, status))
    };
    let releases: Vec<(Release, DeploymentStatus)> = releases.into_iter().filter_map(status_of).collect();
    let ids: Vec<ClusterId> = releases.iter().map(|(release, _)| release.cluster()).collect();
    let clusters = store::cluster::get_many_with_facts(tx, &ids).await?;
    let clusters: HashMap<ClusterId, _> = clusters.into_iter().map(|cluster| (cluster.id, cluster)).collect();
    let leaving = store::pending_removal::list(tx, workload).await?;
    let mut versions = ChartVersions::new(workload);
    let mut targets = Vec::with_capacity(releases.len());
    for (release, status) in releases {
        let Some(cluster) = clusters.get(&release.cluster()) else { continue };
        let version = match release.applied_revision() {
            Some(revision) => versions.get(tx, revision).await?,
            None => String::new(),
        };
        let is_leaving = leaving.iter().any(|one| one.cluster == cluster.id);
        let status = match status {
            DeploymentStatus::Deployed if is_leaving => DeploymentStatus::Stale,
            other => other,
        };
        let is_done = matches!(status, DeploymentStatus::Deployed | DeploymentStatus::Deleted);
        let error = if is_done { String::new() } else { release.message() };
        targets.push(TargetClusterStatus {
            cluster_id: cluster.id,
            cluster_name: cluster.name.clone(),
            cloud: cluster.facts.provider.clone(),
            distribution: cluster.facts.distribution().to_owned(),
            status,
            stale: status != DeploymentStatus::Deleted && (is_leaving || is_stale(&release)),
            version,
            health: release.health().status,
            error,
        });
    }
    let deleted = store::tombstone::list_of_deleted_clusters(tx, workload).await?;
    targets.extend(deleted.iter().map(TargetClusterStatus::cluster_not_found));
    targets.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    Ok(targets)
}

/// The chart versions of the revisions of a workload, each read once.
struct ChartVersions {
    workload: WorkloadId,
    known: BTreeMap<u32, String>,
}

impl ChartVersions {
    fn new(workload: WorkloadId) -> Self {
        Self { workload, known: BTreeMap::new() }
    }

    async fn get(&mut self, tx: &mut Tx, number: u32) -> Result<String, Error> {
        if let Some(version) = self.known.get(&number) {
            return Ok(version.clone());
        }
        let revision = store::revision::get_existing(tx, self.workload, number).await?;
        let version = revision.spec.source.chart().map(|one| one.version.clone()).unwrap_or_default();
        self.known.insert(number, version.clone());
        Ok(version)
    }
}
