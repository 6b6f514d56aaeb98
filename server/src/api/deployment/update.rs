//! REST operation: update deployment.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::deployment::{DeploymentRequest, DeploymentResult};
use hub::Hub;
use wire::Problem;

use super::{DeploymentPath, reject, respond};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;
use crate::request_deadline::OutcomeDeadline;

/// Changes a deployment on every member of its group, also on those that joined since (S1-9). With `reuseValues` the values are
/// merged over the stored ones; without it they replace them, and clusters without values in the request lose theirs (S1-18).
#[utoipa::path(
    put,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName}",
    tag = "deployments",
    params(("Prefer" = Option<String>, Header, description = "`wait=<seconds>`: how long to wait for the outcome, at most 60; 30 by default")),
    request_body = DeploymentRequest,
    responses(
        (status = 200, body = DeploymentResult, description = "Changed on every cluster, or a dry run"),
        (status = 202, body = DeploymentResult, description = "In progress on a cluster"),
        (status = 207, body = DeploymentResult, description = "Failed or deferred on a cluster; `message` has the causes"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "The request is invalid"),
        (status = 404, body = Problem, content_type = "application/problem+json", description = "There is no such deployment")
    )
)]
pub async fn update_deployment(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DeploymentPath>,
    OutcomeDeadline(deadline): OutcomeDeadline,
    Body(request): Body<DeploymentRequest>,
) -> Result<(StatusCode, Json<DeploymentResult>), ApiError> {
    let is_dry_run = request.dry_run;
    let deployment = (path.clustergroup.as_str(), path.release_name.as_str());
    let update = Box::pin(hub.update_deployment(&actor, deployment, request, deadline));
    let result = update.await.map_err(reject)?;
    Ok(if is_dry_run { (StatusCode::OK, Json(result)) } else { respond(result, StatusCode::OK) })
}
