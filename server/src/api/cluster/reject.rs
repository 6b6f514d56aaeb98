//! REST operation: reject cluster.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use crate::input::{Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Rejects the pending registration of this name; the agent's key needs a new token to register again.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/reject",
    tag = "clusters",
    responses((status = 204, description = "The registration is rejected"))
)]
pub async fn reject_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
) -> Result<StatusCode, ApiError> {
    hub.reject_cluster(&actor, &path.cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}
