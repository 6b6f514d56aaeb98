//! REST operation: list deployments.

use axum::Json;
use axum::extract::State;
use domain::deployment::DeploymentSummary;
use hub::Hub;

use crate::api::cluster_group::ClusterGroupPath;
use crate::input::Path;
use crate::problem::ApiError;

/// The deployments of a cluster group, by release name.
#[utoipa::path(
    get,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments",
    tag = "deployments",
    responses(
        (status = 200, body = Vec<DeploymentSummary>)
    )
)]
pub async fn list_deployments(
    State(hub): State<Hub>,
    Path(path): Path<ClusterGroupPath>,
) -> Result<Json<Vec<DeploymentSummary>>, ApiError> {
    Ok(Json(hub.list_deployments(&path.clustergroup).await?))
}
