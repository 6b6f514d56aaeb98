//! REST operation: accept cluster.

use axum::Json;
use axum::extract::State;
use domain::cluster::Cluster;
use hub::Hub;
use wire::AcceptRequest;

use crate::input::{Body, Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Accepts the pending registration of this name; published workloads are placed again.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/accept",
    tag = "clusters",
    request_body = AcceptRequest,
    responses((status = 200, body = Cluster))
)]
pub async fn accept_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
    Body(accept): Body<AcceptRequest>,
) -> Result<Json<Cluster>, ApiError> {
    Ok(Json(hub.accept_cluster(&actor, &path.cluster, accept.fingerprint.as_deref()).await?))
}
