//! REST operation: list groups.

use axum::Json;
use axum::extract::State;
use domain::placement::ClusterGroup;
use hub::Hub;

use crate::problem::ApiError;

/// All cluster groups, by name.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups",
    tag = "groups",
    responses((status = 200, body = Vec<ClusterGroup>))
)]
pub async fn list_groups(State(hub): State<Hub>) -> Result<Json<Vec<ClusterGroup>>, ApiError> {
    Ok(Json(hub.list_groups().await?))
}
