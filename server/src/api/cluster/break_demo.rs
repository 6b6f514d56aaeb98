//! `POST /clusters/{cluster}/demo:break`, on a demo only

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use wire::{BreakRequest, Problem};

use crate::input::{At, Body, Caller, OfCluster};
use crate::problem::Refusal;
use crate::site::Site;

/// Breaks something on a simulated cluster; answers with what was done, in a sentence.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/demo:break",
    tag = "demo",
    operation_id = "clusterBreak",
    params(("cluster" = String, Path)),
    request_body = BreakRequest,
    responses(
        (status = 200, body = String),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(site): State<Site>,
    Caller(_actor): Caller,
    At(of): At<OfCluster>,
    Body(request): Body<BreakRequest>,
) -> Result<Json<String>, Refusal> {
    let levers = site.demo().ok_or_else(|| Refusal::of_status(StatusCode::NOT_FOUND))?;
    if !levers.has(&of.cluster) {
        return Err(hub::Error::not_found("cluster", of.cluster).into());
    }
    let done = levers.pull(&of.cluster, &request);
    done.map(Json).map_err(|why| Refusal::new(StatusCode::CONFLICT, "NotNow", why))
}
