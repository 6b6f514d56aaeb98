//! `POST /clusters/{cluster}:accept`

use axum::Json;
use axum::extract::State;
use domain::cluster::Cluster;
use hub::Hub;
use wire::{AcceptRequest, Problem};

use crate::input::{At, Body, Caller, OfCluster};
use crate::problem::Refusal;

/// Accepts the agent that waits under this name; published workloads are placed anew.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/accept",
    tag = "clusters",
    operation_id = "clusterAccept",
    params(("cluster" = String, Path)),
    request_body = AcceptRequest,
    responses(
        (status = 200, body = Cluster),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfCluster>,
    Body(accept): Body<AcceptRequest>,
) -> Result<Json<Cluster>, Refusal> {
    Ok(Json(hub.cluster_accept(&actor, &of.cluster, accept.fingerprint.as_deref()).await?))
}
