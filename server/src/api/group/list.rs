//! `GET /cluster-groups`

use axum::Json;
use axum::extract::State;
use domain::placement::ClusterGroup;
use hub::Hub;
use wire::Problem;

use crate::problem::ApiError;

/// All cluster groups, by name.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups",
    tag = "groups",
    operation_id = "listGroups",
    responses(
        (status = 200, body = Vec<ClusterGroup>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>) -> Result<Json<Vec<ClusterGroup>>, ApiError> {
    Ok(Json(hub.list_groups().await?))
}
