//! `POST …/workloads/{workload}:unpublish`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::workload::Workload;
use hub::{Hub, Removal};
use wire::{Problem, UnpublishRequest};

use crate::etag::etag;
use crate::input::{At, Body, Caller, OfWorkload};
use crate::problem::Refusal;

/// Takes it back from every cluster; the draft stays.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/unpublish",
    tag = "workloads",
    operation_id = "workloadUnpublish",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is carried out once per key")
    ),
    request_body = UnpublishRequest,
    responses(
        (status = 202, body = Workload, description = "Under way; the status tells how far"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    Body(request): Body<UnpublishRequest>,
) -> Result<(StatusCode, HeaderMap, Json<Workload>), Refusal> {
    let removal = Removal { deletion: request.deletion, force: request.force };
    let workload = hub.workload_unpublish(&actor, &of.workload, removal).await?;
    Ok((StatusCode::ACCEPTED, etag(workload.revision), Json(workload)))
}
