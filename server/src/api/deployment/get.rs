//! REST operation: get deployment.

use axum::Json;
use axum::extract::State;
use domain::deployment::DeploymentView;
use hub::Hub;

use super::DeploymentPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// One deployment with its values and the state of each cluster (S1-19, S1-20). It has no single status. Values that are
/// secrets are `(hidden)` for a role that may not edit drafts.
#[utoipa::path(
    get,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName}",
    tag = "deployments",
    responses(
        (status = 200, body = DeploymentView)
    )
)]
pub async fn get_deployment(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DeploymentPath>,
) -> Result<Json<DeploymentView>, ApiError> {
    Ok(Json(hub.get_deployment(&actor, &path.clustergroup, &path.release_name).await?))
}
