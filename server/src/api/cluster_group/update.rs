//! REST operation: update cluster group.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use domain::deployment::{ClusterGroupRequest, ClusterGroupView};
use hub::Hub;
use wire::Problem;

use super::ClusterGroupPath;
use crate::api::deployment::reject;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Replaces the members of a cluster group. A cluster that leaves loses the deployments of the group at once (S1-8), one that
/// joins gets none before they are edited (S1-9).
#[utoipa::path(
    put,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}",
    tag = "cluster groups",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = ClusterGroupRequest,
    responses(
        (status = 200, body = ClusterGroupView, headers(("ETag"))),
        (status = 204, description = "The last member was removed, and the group with it"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "A member can't join"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "A feature rejects the change")
    )
)]
pub async fn update_cluster_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterGroupPath>,
    IfMatch(expected): IfMatch,
    Body(request): Body<ClusterGroupRequest>,
) -> Result<Response, ApiError> {
    let changed = hub.set_group_members(&actor, &path.clustergroup, request, expected).await;
    Ok(match changed.map_err(reject)? {
        Some(group) => (etag_header(group.revision), Json(group)).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
