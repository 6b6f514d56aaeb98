//! REST operation: create cluster group.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::deployment::{ClusterGroupRequest, ClusterGroupView};
use hub::Hub;
use wire::Problem;

use crate::api::deployment::reject;
use crate::etag::etag_header;
use crate::input::{Body, Caller, Path, ProjectPath};
use crate::problem::ApiError;

/// Creates a cluster group of running clusters (S1-1).
#[utoipa::path(
    post,
    path = "/api/v1/orgs/{org}/clustergroups",
    tag = "cluster groups",
    request_body = ClusterGroupRequest,
    responses(
        (status = 201, body = ClusterGroupView, headers(("ETag"))),
        (status = 400, body = Problem, content_type = "application/problem+json",
            description = "Without members, or a member can't join"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "The name is in use")
    )
)]
pub async fn create_cluster_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(_path): Path<ProjectPath>,
    Body(request): Body<ClusterGroupRequest>,
) -> Result<(StatusCode, HeaderMap, Json<ClusterGroupView>), ApiError> {
    let group = hub.create_group_of(&actor, request).await.map_err(reject)?;
    Ok((StatusCode::CREATED, etag_header(group.revision), Json(group)))
}
