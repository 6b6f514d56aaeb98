//! `PATCH /clusters/{cluster}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::cluster::Cluster;
use hub::{ClusterEdit, Hub};
use wire::{ClusterPatch, Problem};

use crate::etag::{IfMatch, etag};
use crate::input::{At, Body, Caller, OfCluster};
use crate::problem::Refusal;

/// Changes labels, taints or schedulability; every published workload is placed anew.
#[utoipa::path(
    patch,
    path = "/api/v1/clusters/{cluster}",
    tag = "clusters",
    operation_id = "clusterPatch",
    params(
        ("cluster" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The ETag that was read")
    ),
    request_body = ClusterPatch,
    responses(
        (status = 200, body = Cluster),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfCluster>,
    IfMatch(seen): IfMatch,
    Body(patch): Body<ClusterPatch>,
) -> Result<(HeaderMap, Json<Cluster>), Refusal> {
    let edit = ClusterEdit { labels: patch.labels, taints: patch.taints, schedulable: patch.schedulable };
    let cluster = hub.cluster_edit(&actor, &of.cluster, edit, seen).await?;
    Ok((etag(cluster.revision), Json(cluster)))
}
