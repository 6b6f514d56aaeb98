//! REST operation: delete cluster group.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::Problem;

use super::ClusterGroupPath;
use crate::etag::IfMatch;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Deletes a cluster group and its deployments (S1-28). Unreachable clusters remove them when they return.
#[utoipa::path(
    delete,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}",
    tag = "cluster groups",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    responses(
        (status = 204, description = "The group is deleted, and its deployments are being deleted"),
        (status = 409, body = Problem, content_type = "application/problem+json",
            description = "Its members are locked, or a workload that is no deployment of the group refers to it")
    )
)]
pub async fn delete_cluster_group(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterGroupPath>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    hub.delete_group_with_deployments(&actor, &path.clustergroup, expected).await?;
    Ok(StatusCode::NO_CONTENT)
}
