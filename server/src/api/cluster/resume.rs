//! REST operation: resume cluster.

use axum::Json;
use axum::extract::State;
use domain::suspension::SuspensionDetails;
use hub::Hub;

use crate::input::{Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Ends the suspension of a cluster. Returns what changes of each workload there.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/resume",
    tag = "clusters",
    responses((status = 200, body = SuspensionDetails))
)]
pub async fn resume_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
) -> Result<Json<SuspensionDetails>, ApiError> {
    Ok(Json(hub.resume_cluster(&actor, &path.cluster).await?))
}
