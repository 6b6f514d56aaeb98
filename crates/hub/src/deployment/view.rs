//! Deployments as the API shows them (S1-19, S1-20).

use std::collections::{BTreeMap, HashMap};

use domain::authorization::UserAction;
use domain::deployment::{
    DeploymentStatus, DeploymentSummary, DeploymentView, TargetClusterStatus, is_stale, list_value_overrides,
    read_chart_values,
};
use domain::release::Release;
use domain::workload::WorkloadSpec;
use domain::{ClusterId, WorkloadId};
use store::Tx;

use super::Deployment;
use crate::group::load_group;
use crate::{Actor, Error, Hub};

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
        let target_clusters = load_target_clusters(&mut tx, &deployment).await?;
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

/// The clusters that have the deployment, are to have it, or are losing it, and deleted ones that still have it; by name.
async fn load_target_clusters(
    tx: &mut Tx,
    deployment: &Deployment,
) -> Result<Vec<TargetClusterStatus>, Error> {
    let workload = deployment.workload.id;
    let releases = store::release::list_all_by_workload(tx, workload).await?;
    let is_deleting = deployment.is_deleting();
    let status_of = |release: Release| {
        let status = DeploymentStatus::from_release(&release, is_deleting)?;
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
        let error = if status == DeploymentStatus::Deployed { String::new() } else { release.message() };
        targets.push(TargetClusterStatus {
            cluster_id: cluster.id,
            cluster_name: cluster.name.clone(),
            cloud: cluster.facts.provider.clone(),
            distribution: cluster.facts.distribution().to_owned(),
            status,
            stale: is_leaving || is_stale(&release),
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
