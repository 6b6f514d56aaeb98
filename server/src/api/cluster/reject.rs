//! `POST /clusters/{cluster}:reject`

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::Problem;

use crate::input::{At, Caller, OfCluster};
use crate::problem::Refusal;

/// Refuses the agent that waits under this name; its key needs a new token to ask again.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/reject",
    tag = "clusters",
    operation_id = "clusterReject",
    params(("cluster" = String, Path)),
    responses(
        (status = 204, description = "It is refused"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfCluster>,
) -> Result<StatusCode, Refusal> {
    hub.cluster_reject(&actor, &of.cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}
