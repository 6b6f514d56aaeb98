//! `POST /clusters/{cluster}:reject`

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::Problem;

use crate::input::{Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Rejects the pending registration of this name; the agent's key needs a new token to register again.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/reject",
    tag = "clusters",
    operation_id = "rejectCluster",
    params(("cluster" = String, Path)),
    responses(
        (status = 204, description = "The registration is rejected"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
) -> Result<StatusCode, ApiError> {
    hub.reject_cluster(&actor, &path.cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}
