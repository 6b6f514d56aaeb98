//! REST operation: get deployment.

use axum::Json;
use axum::extract::State;
use domain::deployment::DeploymentView;
use hub::Hub;

use super::DeploymentPath;
use crate::input::Path;
use crate::problem::ApiError;

/// One deployment with its values and the state of each cluster (S1-19, S1-20). It has no single status.
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
    Path(path): Path<DeploymentPath>,
) -> Result<Json<DeploymentView>, ApiError> {
    Ok(Json(hub.get_deployment(&path.clustergroup, &path.release_name).await?))
}
