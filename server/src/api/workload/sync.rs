//! `POST …/workloads/{workload}:sync`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::{Problem, SyncAnswer, SyncRequest};

use crate::input::{At, Body, Caller, OfWorkload};
use crate::problem::Refusal;

/// Asks clusters to compare now. Never adds a target (S1-9b).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/sync",
    tag = "workloads",
    operation_id = "workloadSync",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is carried out once per key")
    ),
    request_body = SyncRequest,
    responses(
        (status = 202, body = SyncAnswer),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    Body(request): Body<SyncRequest>,
) -> Result<(StatusCode, Json<SyncAnswer>), Refusal> {
    let asked = hub.workload_sync(&actor, &of.workload, &request.clusters).await?;
    Ok((StatusCode::ACCEPTED, Json(SyncAnswer { asked })))
}
