//! REST operation: create deployment.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::deployment::{DeploymentRequest, DeploymentResult};
use hub::Hub;
use wire::Problem;

use super::{reject, respond};
use crate::api::cluster_group::ClusterGroupPath;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;
use crate::request_deadline::OutcomeDeadline;

/// Deploys a chart to every member of a cluster group (S1-10). `values` are the common values, `valueOverrides` those of single
/// clusters by name. Without `releaseName` the name is two random words.
#[utoipa::path(
    post,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments",
    tag = "deployments",
    params(("Prefer" = Option<String>, Header, description = "`wait=<seconds>`: how long to wait for the outcome, at most 60; 30 by default")),
    request_body = DeploymentRequest,
    responses(
        (status = 201, body = DeploymentResult, description = "Deployed to every cluster"),
        (status = 200, body = DeploymentResult, description = "Dry run: nothing was stored"),
        (status = 202, body = DeploymentResult, description = "In progress on a cluster"),
        (status = 207, body = DeploymentResult, description = "Failed or deferred on a cluster; `message` has the causes"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "The request is invalid"),
        (status = 404, body = Problem, content_type = "application/problem+json", description = "There is no such group"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "The group has a deployment with this release name")
    )
)]
pub async fn create_deployment(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterGroupPath>,
    OutcomeDeadline(deadline): OutcomeDeadline,
    Body(request): Body<DeploymentRequest>,
) -> Result<(StatusCode, Json<DeploymentResult>), ApiError> {
    if request.dry_run {
        let checked = Box::pin(hub.create_deployment(&actor, &path.clustergroup, request, deadline)).await;
        return Ok((StatusCode::OK, Json(checked.map_err(reject)?)));
    }
    let result = Box::pin(hub.create_deployment(&actor, &path.clustergroup, request, deadline)).await;
    Ok(respond(result.map_err(reject)?, StatusCode::CREATED))
}
