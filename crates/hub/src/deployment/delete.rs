//! Deletes a deployment (S1-22, S1-23).

use domain::authorization::UserAction;
use domain::deployment::DeploymentResult;
use domain::event::EventSubject;
use domain::operation::{COMPLETES_LATER, OperationStatus};
use domain::placement::Decision;
use domain::release::ReleaseState;
use domain::request::RemovalOptions;
use domain::workload::{Intent, Workload};
use store::Tx;
use tokio::time::Instant;

use super::{Deployment, load_latest_operation, started_deployment, without_request_key};
use crate::hub::CommitEffects;
use crate::idempotency::IN_PROGRESS;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Deletes a deployment from every cluster, and waits for their outcome, at the latest until `deadline`. A deletion that has failed on a
    /// cluster is tried again there at once. Without `force` it stays until unreachable clusters have returned; with it they remove
    /// it when they return, and count as succeeded.
    ///
    /// # Errors
    /// There is no such deployment.
    pub async fn delete_deployment(
        &self,
        actor: &Actor,
        (group, name): (&str, &str),
        force: bool,
        deadline: Instant,
    ) -> Result<DeploymentResult, Error> {
        actor.authorize(UserAction::Deploy)?;
        let mut tx = self.read().await?;
        let deployment = self.load_deployment(&mut tx, group, name).await?;
        drop(tx);
        let mut tx = self.write_as(actor, UserAction::Deploy).await?;
        let intent = self.lock_deployment(&mut tx, &deployment).await?;
        let effects = if force || intent != Intent::Deleting {
            let removal = RemovalOptions { force, ignore_dependents: force, ..RemovalOptions::default() };
            self.stage_deletion(&mut tx, actor, &deployment.workload.name, removal).await?.1
        } else {
            self.stage_deletion_retry(&mut tx, actor, &deployment).await?
        };
        if effects.events.is_empty() {
            let Workload { id, name, .. } = &deployment.workload;
            let message = format!("{name} is being deleted already; nothing was changed.");
            tx.describe_audit(EventSubject::workload(*id, name).describe(), message);
        }
        let operation = load_latest_operation(&mut tx, &deployment).await?;
        // The outcome replaces it: until then a repeated request finds the operation to follow.
        let started = started_deployment(name, &Decision::default(), operation, Vec::new());
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &started)).await?;
        let mut result = self.wait_for_deployment(name, (operation, &[]), deadline).await?;
        if force {
            for target in &mut result.target_clusters {
                // One that is suspended removes it when it is resumed: until then it has not succeeded.
                if target.error.as_deref() == Some(COMPLETES_LATER) {
                    target.status = OperationStatus::Succeeded;
                }
            }
            result.message = domain::deployment::describe_failures(name, &result.target_clusters);
        }
        Ok(result)
    }

    /// Locks the workload of a deployment until the transaction ends; returns its intent. Another deletion may have begun or ended since
    /// it was read.
    async fn lock_deployment(&self, tx: &mut Tx, deployment: &Deployment) -> Result<Intent, Error> {
        let Workload { id, name, .. } = &deployment.workload;
        match self.lock_workload_head(tx, name).await {
            Ok(head) if head.id == *id => Ok(head.intent),
            Ok(_) | Err(Error::NotFound { .. }) => {
                Err(Error::not_found("deployment", deployment.release_name()))
            }
            Err(error) => Err(error),
        }
    }

    /// Lets the clusters of a deployment that is being deleted try again, if the removal has failed on one of them; the caller has locked
    /// the workload and commits.
    pub(crate) async fn stage_deletion_retry(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        deployment: &Deployment,
    ) -> Result<CommitEffects, Error> {
        let releases = store::release::list_all_by_workload(tx, deployment.workload.id).await?;
        if releases.iter().all(|release| release.state() != ReleaseState::Failed) {
            return Ok(CommitEffects::default());
        }
        let workload = self.load_workload_head(tx, &deployment.workload.name).await?;
        Ok(self.stage_sync(tx, &without_request_key(actor), &workload, &[]).await?.1)
    }
}
