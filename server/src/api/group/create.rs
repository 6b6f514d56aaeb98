//! REST operation: create group.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::placement::ClusterGroup;
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Body, Caller};
use crate::problem::ApiError;

/// Creates a cluster group. Rejected if the name exists.
#[utoipa::path(
    post,
    path = "/api/v1/cluster-groups",
    tag = "groups",
    request_body = ClusterGroup,
    responses((status = 201, body = ClusterGroup, headers(("ETag"))))
)]
pub async fn create_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(group): Body<ClusterGroup>,
) -> Result<(StatusCode, HeaderMap, Json<ClusterGroup>), ApiError> {
    let group = hub.create_group(&actor, group).await?;
    Ok((StatusCode::CREATED, etag_header(group.revision), Json(group)))
}
