//! REST operation: sync deployment.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::deployment::DeploymentResult;
use hub::Hub;
use wire::Problem;

use super::{DeploymentPath, reject, respond};
use crate::input::{Caller, Path};
use crate::problem::ApiError;
use crate::request_deadline::OutcomeDeadline;

/// Reconciles a deployment (S1-21): its clusters compare now, and clusters that left the group lose it. Never adds a target.
#[utoipa::path(
    put,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName}/sync",
    tag = "deployments",
    params(("Prefer" = Option<String>, Header, description = "`wait=<seconds>`: how long to wait for the outcome, at most 60; 30 by default")),
    responses(
        (status = 202, body = DeploymentResult, description = "Reconciled or in progress"),
        (status = 207, body = DeploymentResult, description = "Failed or deferred on a cluster; `message` has the causes"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "The request is invalid"),
        (status = 404, body = Problem, content_type = "application/problem+json", description = "There is no such deployment")
    )
)]
pub async fn sync_deployment(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DeploymentPath>,
    OutcomeDeadline(deadline): OutcomeDeadline,
) -> Result<(StatusCode, Json<DeploymentResult>), ApiError> {
    let deployment = (path.clustergroup.as_str(), path.release_name.as_str());
    let result = hub.sync_deployment(&actor, deployment, deadline).await.map_err(reject)?;
    Ok(respond(result, StatusCode::ACCEPTED))
}
