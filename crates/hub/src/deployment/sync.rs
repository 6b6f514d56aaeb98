//! Reconciles a deployment (S1-21): its clusters compare now, and clusters that left the group lose it. Adds no target.

use std::collections::{BTreeSet, HashSet};

use domain::authorization::UserAction;
use domain::deployment::{DeploymentResult, DeploymentStatus, TargetClusterOutcome, TargetClusterStatus};
use domain::placement::Decision;
use domain::release::Release;
use domain::{ClusterId, WorkloadId};
use store::Tx;
use tokio::time::Instant;

use super::{started_deployment, without_request_key};
use crate::group::load_group;
use crate::idempotency::IN_PROGRESS;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Syncs a deployment, and waits for the outcome, at the latest until `deadline`. If every cluster has it as desired, nothing is done.
    ///
    /// # Errors
    /// There is no such deployment, or it is being deleted.
    pub async fn sync_deployment(
        &self,
        actor: &Actor,
        (group, name): (&str, &str),
        deadline: Instant,
    ) -> Result<DeploymentResult, Error> {
        actor.authorize(UserAction::Deploy)?;
        let mut view = self.get_deployment(actor, group, name).await?;
        // A sync has nothing to repair there.
        let is_gone =
            |status| matches!(status, DeploymentStatus::ClusterNotFound | DeploymentStatus::Deleted);
        view.target_clusters.retain(|one| !is_gone(one.status));
        let mut tx = self.write_as(actor, UserAction::Deploy).await?;
        let deployment = self.load_deployment(&mut tx, group, name).await?;
        let workload = self.lock_workload_head(&mut tx, &deployment.workload.name).await?;
        let leaving = list_leaving(&mut tx, group, workload.id).await?;
        let is_current = |one: &TargetClusterStatus| one.status == DeploymentStatus::Deployed && !one.stale;
        if leaving.is_empty() && view.target_clusters.iter().all(is_current) {
            return Ok(DeploymentResult {
                release_name: name.to_owned(),
                operation: None,
                message: "nothing to do".to_owned(),
                target_clusters: view.target_clusters.iter().map(TargetClusterOutcome::unchanged).collect(),
                findings: Vec::new(),
            });
        }
        let now = self.clock().now();
        // In the same transaction as the sync: its outcome contains them.
        for cluster in leaving {
            store::pending_removal::request(&mut tx, workload.id, cluster, now).await?;
        }
        let (operation, effects) =
            self.stage_sync(&mut tx, &without_request_key(actor), &workload, &[]).await?;
        // The outcome replaces it.
        let started = started_deployment(name, &Decision::default(), operation, Vec::new());
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &started)).await?;
        self.wait_for_deployment(name, (operation, &[]), deadline).await
    }
}

/// The clusters that have the deployment and left the group, or are about to lose it, unless a user retains it there. The members
/// are read, because the placer may not have seen yet that they changed.
async fn list_leaving(tx: &mut Tx, group: &str, workload: WorkloadId) -> Result<BTreeSet<ClusterId>, Error> {
    let group = load_group(tx, group).await?;
    let clusters = store::cluster::list_all(tx).await?;
    let members: HashSet<ClusterId> =
        clusters.iter().filter(|cluster| group.contains(cluster)).map(|cluster| cluster.id).collect();
    let pending = store::pending_removal::list(tx, workload).await?;
    let is_pending = |cluster: ClusterId| pending.iter().any(|one| one.cluster == cluster);
    let is_retained =
        |cluster: ClusterId| pending.iter().any(|one| one.cluster == cluster && one.retained_by.is_some());
    let releases = store::release::list_all_by_workload(tx, workload).await?;
    let present = releases.iter().filter(|release| release.is_present()).map(Release::cluster);
    Ok(present
        .filter(|cluster| !is_retained(*cluster) && (is_pending(*cluster) || !members.contains(cluster)))
        .collect())
}
