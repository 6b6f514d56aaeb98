//! REST operation: delete deployment.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::deployment::DeploymentResult;
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::Problem;

use super::{DeploymentPath, reject, respond};
use crate::input::{Caller, Path, Query};
use crate::problem::ApiError;
use crate::request_deadline::OutcomeDeadline;

/// Query parameters.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteQuery {
    /// Whether unreachable clusters count as succeeded; they remove it when they return.
    #[param(required = false)]
    force: bool,
}

/// Deletes a deployment from every cluster (S1-22). Without `force` it stays until unreachable clusters have returned (S1-23).
#[utoipa::path(
    delete,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName}",
    tag = "deployments",
    params(
        ("Prefer" = Option<String>, Header, description = "`wait=<seconds>`: how long to wait for the outcome, at most 60; 30 by default"),
        DeleteQuery
    ),
    responses(
        (status = 200, body = DeploymentResult, description = "Deleted from every cluster"),
        (status = 202, body = DeploymentResult, description = "In progress on a cluster"),
        (status = 207, body = DeploymentResult, description = "Failed or deferred on a cluster; `message` has the causes"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "The request is invalid"),
        (status = 404, body = Problem, content_type = "application/problem+json", description = "There is no such deployment")
    )
)]
pub async fn delete_deployment(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DeploymentPath>,
    Query(query): Query<DeleteQuery>,
    OutcomeDeadline(deadline): OutcomeDeadline,
) -> Result<(StatusCode, Json<DeploymentResult>), ApiError> {
    let deployment = (path.clustergroup.as_str(), path.release_name.as_str());
    let result = hub.delete_deployment(&actor, deployment, query.force, deadline).await.map_err(reject)?;
    Ok(respond(result, StatusCode::OK))
}
