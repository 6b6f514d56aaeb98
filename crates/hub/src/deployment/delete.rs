//! Deletes a deployment (S1-22, S1-23).

use std::time::Duration;

use domain::authorization::UserAction;
use domain::deployment::DeploymentResult;
use domain::operation::OperationStatus;
use domain::placement::Decision;
use domain::request::RemovalOptions;

use super::{load_latest_operation, started_deployment};
use crate::idempotency::IN_PROGRESS;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Deletes a deployment from every cluster, and waits for their outcome, at most for `wait`. Without `force` it stays until
    /// unreachable clusters have returned; with it they remove it when they return, and count as succeeded.
    ///
    /// # Errors
    /// There is no such deployment.
    pub async fn delete_deployment(
        &self,
        actor: &Actor,
        (group, name): (&str, &str),
        force: bool,
        wait: Duration,
    ) -> Result<DeploymentResult, Error> {
        actor.authorize(UserAction::Deploy)?;
        let mut tx = self.read().await?;
        let deployment = self.load_deployment(&mut tx, group, name).await?;
        drop(tx);
        if force || !deployment.is_deleting() {
            let removal = RemovalOptions { force, ..RemovalOptions::default() };
            let mut tx = self.write_as(actor, UserAction::Deploy).await?;
            let (_, effects) =
                self.stage_deletion(&mut tx, actor, &deployment.workload.name, removal).await?;
            let operation = load_latest_operation(&mut tx, &deployment).await?;
            // The outcome replaces it: until then a repeated request finds the operation to follow.
            let started = started_deployment(name, &Decision::default(), operation, Vec::new());
            self.commit(tx, effects.with_response(actor, IN_PROGRESS, &started)).await?;
        }
        let mut tx = self.read().await?;
        let operation = load_latest_operation(&mut tx, &deployment).await?;
        drop(tx);
        let mut result = self.wait_for_deployment(name, operation, wait).await?;
        if force {
            for target in &mut result.target_clusters {
                if target.status == OperationStatus::Deferred {
                    target.status = OperationStatus::Succeeded;
                }
            }
            result.message = domain::deployment::describe_failures(name, &result.target_clusters);
        }
        Ok(result)
    }
}
