//! REST operation: suspend cluster.

use axum::Json;
use axum::extract::State;
use domain::suspension::{ClusterSuspendRequest, SuspensionDetails};
use hub::Hub;

use crate::input::{Body, Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Suspends a cluster: of no workload anything is applied, reverted or deleted there until it is resumed. Drift is still reported, and
/// what is published meanwhile waits.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/suspend",
    tag = "clusters",
    request_body = ClusterSuspendRequest,
    responses((status = 200, body = SuspensionDetails))
)]
pub async fn suspend_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
    Body(request): Body<ClusterSuspendRequest>,
) -> Result<Json<SuspensionDetails>, ApiError> {
    Ok(Json(hub.suspend_cluster(&actor, &path.cluster, &request).await?))
}
