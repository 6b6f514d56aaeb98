//! `GET /clusters/{cluster}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::cluster::ClusterSummary;
use hub::Hub;
use wire::Problem;

use crate::etag::etag;
use crate::input::{At, OfCluster};
use crate::problem::Refusal;

/// One cluster with its facts and counts.
#[utoipa::path(
    get,
    path = "/api/v1/clusters/{cluster}",
    tag = "clusters",
    operation_id = "clusterGet",
    params(("cluster" = String, Path)),
    responses(
        (status = 200, body = ClusterSummary),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfCluster>,
) -> Result<(HeaderMap, Json<ClusterSummary>), Refusal> {
    let summary = hub.cluster_view(&of.cluster).await?;
    Ok((etag(summary.cluster.revision), Json(summary)))
}
