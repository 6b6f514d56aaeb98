//! `GET /cluster-groups`

use axum::Json;
use axum::extract::State;
use domain::placement::ClusterGroup;
use hub::Hub;
use wire::Problem;

use crate::problem::Refusal;

/// All cluster groups, by name.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups",
    tag = "groups",
    operation_id = "groupList",
    responses(
        (status = 200, body = Vec<ClusterGroup>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>) -> Result<Json<Vec<ClusterGroup>>, Refusal> {
    Ok(Json(hub.group_list().await?))
}
