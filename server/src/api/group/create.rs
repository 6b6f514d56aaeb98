//! REST operation: create group.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::placement::ClusterGroup;
use hub::Hub;

use crate::input::{Body, Caller};
use crate::problem::ApiError;

/// Creates a cluster group. Rejected if the name exists.
#[utoipa::path(
    post,
    path = "/api/v1/cluster-groups",
    tag = "groups",
    request_body = ClusterGroup,
    responses((status = 201, body = ClusterGroup))
)]
pub async fn create_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(group): Body<ClusterGroup>,
) -> Result<(StatusCode, Json<ClusterGroup>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.create_group(&actor, group).await?)))
}
