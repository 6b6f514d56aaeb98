//! REST operation: get cluster.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::cluster::ClusterSummary;
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// One cluster with its facts and counts, how its agent joined, and the agent's certificate.
#[utoipa::path(
    get,
    path = "/api/v1/clusters/{cluster}",
    tag = "clusters",
    responses((status = 200, body = ClusterSummary, headers(("ETag"))))
)]
pub async fn get_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
) -> Result<(HeaderMap, Json<ClusterSummary>), ApiError> {
    let summary = hub.get_cluster(&path.cluster).await?;
    let summary = hub.hide_secrets(&actor, summary).await?;
    Ok((etag_header(summary.cluster.revision), Json(summary)))
}
