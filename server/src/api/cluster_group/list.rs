//! REST operation: list cluster groups.

use axum::Json;
use axum::extract::State;
use domain::deployment::ClusterGroupView;
use hub::Hub;

use crate::input::{Path, ProjectPath};
use crate::problem::ApiError;

/// All cluster groups with their members, by name.
#[utoipa::path(
    get,
    path = "/api/v1/orgs/{org}/clustergroups",
    tag = "cluster groups",
    responses(
        (status = 200, body = Vec<ClusterGroupView>)
    )
)]
pub async fn list_cluster_groups(
    State(hub): State<Hub>,
    Path(_path): Path<ProjectPath>,
) -> Result<Json<Vec<ClusterGroupView>>, ApiError> {
    Ok(Json(hub.list_group_views().await?))
}
