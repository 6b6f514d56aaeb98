//! Deletes a deployment (S1-22, S1-23).

use std::time::Duration;

use domain::authorization::UserAction;
use domain::deployment::DeploymentResult;
use domain::operation::OperationStatus;
use domain::request::RemovalOptions;

use super::without_request_key;
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
            self.delete_workload(&without_request_key(actor), name, removal).await?;
        }
        let mut tx = self.read().await?;
        let latest = store::operation::get_latest(&mut tx, deployment.workload.id).await?;
        drop(tx);
        let operation = latest.ok_or_else(|| Error::not_found("operation", name))?;
        let mut result = self.wait_for_deployment(name, operation.id, wait).await?;
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
