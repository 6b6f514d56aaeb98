//! `POST …/workloads/{workload}:keep`

use axum::Json;
use axum::extract::State;
use hub::Hub;
use wire::{KeepAnswer, KeepRequest, Problem};

use crate::input::{At, Body, Caller, OfWorkload};
use crate::problem::Refusal;

/// Leaves it where it no longer matches and would soon be taken away, until the next publish (E-6).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/keep",
    tag = "workloads",
    operation_id = "workloadKeep",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is carried out once per key")
    ),
    request_body = KeepRequest,
    responses(
        (status = 200, body = KeepAnswer),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    Body(request): Body<KeepRequest>,
) -> Result<Json<KeepAnswer>, Refusal> {
    let kept = hub.workload_keep(&actor, &of.workload, &request.clusters).await?;
    Ok(Json(KeepAnswer { kept }))
}
