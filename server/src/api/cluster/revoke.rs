//! REST operation: revoke cluster.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use crate::input::{Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Revokes every certificate of a cluster: its agent is disconnected immediately, its workloads keep running.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/revoke",
    tag = "clusters",
    responses((status = 204, description = "The certificates are revoked"))
)]
pub async fn revoke_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
) -> Result<StatusCode, ApiError> {
    hub.revoke_cluster(&actor, &path.cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}
