//! REST operation: patch cluster.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::cluster::Cluster;
use hub::Hub;
use wire::ClusterPatch;

use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, ClusterPath, Path};
use crate::problem::ApiError;

/// Changes labels, taints or schedulability; every published workload is placed again.
#[utoipa::path(
    patch,
    path = "/api/v1/clusters/{cluster}",
    tag = "clusters",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = ClusterPatch,
    responses((status = 200, body = Cluster, headers(("ETag"))))
)]
pub async fn patch_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
    IfMatch(revision): IfMatch,
    Body(patch): Body<ClusterPatch>,
) -> Result<(HeaderMap, Json<Cluster>), ApiError> {
    let cluster = hub.edit_cluster(&actor, &path.cluster, patch, revision).await?;
    Ok((etag_header(cluster.revision), Json(cluster)))
}
