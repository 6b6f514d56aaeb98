//! `POST /clusters/{cluster}:revoke`

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::Problem;

use crate::input::{Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Revokes every certificate of a cluster: its agent is disconnected immediately, its workloads keep running.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/revoke",
    tag = "clusters",
    operation_id = "revokeCluster",
    params(("cluster" = String, Path)),
    responses(
        (status = 204, description = "The certificates are revoked"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
) -> Result<StatusCode, ApiError> {
    hub.revoke_cluster(&actor, &path.cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}
