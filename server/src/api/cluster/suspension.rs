//! REST operation: get the suspension of a cluster.

use axum::Json;
use axum::extract::State;
use domain::suspension::SuspensionDetails;
use hub::Hub;

use crate::input::{ClusterPath, Path};
use crate::problem::ApiError;

/// The suspension of a cluster, and what a resume would change of each workload there.
#[utoipa::path(
    get,
    path = "/api/v1/clusters/{cluster}/suspension",
    tag = "clusters",
    responses((status = 200, body = SuspensionDetails))
)]
pub async fn get_cluster_suspension(
    State(hub): State<Hub>,
    Path(path): Path<ClusterPath>,
) -> Result<Json<SuspensionDetails>, ApiError> {
    Ok(Json(hub.get_cluster_suspension(&path.cluster).await?))
}
