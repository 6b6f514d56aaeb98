//! `POST /cluster-groups`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::placement::ClusterGroup;
use hub::Hub;
use wire::Problem;

use crate::input::{Body, Caller};
use crate::problem::ApiError;

/// Creates a cluster group. Rejected if the name exists.
#[utoipa::path(
    post,
    path = "/api/v1/cluster-groups",
    tag = "groups",
    operation_id = "createGroup",
    request_body = ClusterGroup,
    responses(
        (status = 201, body = ClusterGroup),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(group): Body<ClusterGroup>,
) -> Result<(StatusCode, Json<ClusterGroup>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.create_group(&actor, group).await?)))
}
