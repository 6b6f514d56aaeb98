//! `POST …/workloads/{workload}:restore`

use axum::Json;
use axum::extract::State;
use domain::workload::Workload;
use hub::Hub;
use wire::{Problem, RestoreRequest};

use crate::etag::IfMatch;
use crate::input::{At, Body, Caller, OfWorkload};
use crate::problem::Refusal;

/// Makes the draft what an earlier revision was. Nothing runs differently before a publish.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/restore",
    tag = "workloads",
    operation_id = "workloadRestore",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft that was seen"),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is carried out once per key")
    ),
    request_body = RestoreRequest,
    responses(
        (status = 200, body = Workload),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    seen: IfMatch,
    Body(request): Body<RestoreRequest>,
) -> Result<Json<Workload>, Refusal> {
    Ok(Json(hub.workload_restore(&actor, &of.workload, request.revision, seen.0).await?))
}
