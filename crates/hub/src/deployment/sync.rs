//! Reconciles a deployment (S1-21): its clusters compare now, and clusters that left the group lose it. Adds no target.

use std::time::Duration;

use domain::authorization::UserAction;
use domain::deployment::{DeploymentResult, DeploymentStatus};

use super::{load_latest_operation, without_request_key};
use crate::{Actor, Error, Hub};

impl Hub {
    /// Syncs a deployment, and waits for the outcome, at most for `wait`. If every cluster has it as desired, nothing is done.
    ///
    /// # Errors
    /// There is no such deployment, or it is being deleted.
    pub async fn sync_deployment(
        &self,
        actor: &Actor,
        (group, name): (&str, &str),
        wait: Duration,
    ) -> Result<DeploymentResult, Error> {
        actor.authorize(UserAction::Deploy)?;
        let view = self.get_deployment(group, name).await?;
        let mut tx = self.read().await?;
        let deployment = self.load_deployment(&mut tx, group, name).await?;
        let pending = store::pending_removal::list(&mut tx, deployment.workload.id).await?;
        drop(tx);
        let is_current = |status| status == DeploymentStatus::Deployed;
        let leaves = pending.iter().filter(|one| one.retained_by.is_none());
        let leaving: Vec<_> = leaves.map(|one| one.cluster).collect();
        if view.target_clusters.iter().all(|one| is_current(one.status) && !one.stale) && leaving.is_empty() {
            return Ok(DeploymentResult {
                release_name: name.to_owned(),
                operation: None,
                message: "nothing to do".to_owned(),
                target_clusters: Vec::new(),
                findings: Vec::new(),
            });
        }
        let mut tx = self.write_as(actor, UserAction::Deploy).await?;
        store::workload::lock_head(&mut tx, deployment.workload.id).await?;
        for cluster in leaving {
            let now = self.clock().now();
            store::pending_removal::request(&mut tx, deployment.workload.id, cluster, now).await?;
        }
        tx.commit().await?;
        self.sync_workload(&without_request_key(actor), name, &[]).await?;
        let mut tx = self.read().await?;
        let operation = load_latest_operation(&mut tx, &deployment).await?;
        drop(tx);
        self.wait_for_deployment(name, operation, wait).await
    }
}
