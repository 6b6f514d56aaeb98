//! `POST /clusters/{cluster}:revoke`

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::Problem;

use crate::input::{At, Caller, OfCluster};
use crate::problem::Refusal;

/// Revokes every certificate of a cluster: its agent is cut off at once, what runs there keeps running.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/revoke",
    tag = "clusters",
    operation_id = "clusterRevoke",
    params(("cluster" = String, Path)),
    responses(
        (status = 204, description = "They are revoked"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfCluster>,
) -> Result<StatusCode, Refusal> {
    hub.cluster_revoke(&actor, &of.cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}
