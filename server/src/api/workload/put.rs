//! `PUT …/workloads/{workload}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::{Hub, WorkloadEdit};
use wire::{Problem, WorkloadPut};

use crate::etag::{MustMatch, etag};
use crate::input::{At, Body, Caller, OfWorkload};
use crate::problem::Refusal;

/// Replaces the draft. `If-Match` is required: what one has not seen can't be replaced by accident.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    operation_id = "workloadPut",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("If-Match" = String, Header, description = "The ETag that was read, or `*`")
    ),
    request_body = WorkloadPut,
    responses(
        (status = 200, body = Workload),
        (status = 412, body = Problem, content_type = "application/problem+json", description = "Changed meanwhile"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    MustMatch(seen): MustMatch,
    Body(put): Body<WorkloadPut>,
) -> Result<(HeaderMap, Json<Workload>), Refusal> {
    let edit = WorkloadEdit { spec: Some(put.spec), labels: put.labels };
    let workload = hub.workload_edit(&actor, &of.workload, edit, seen).await?;
    Ok((etag(workload.revision), Json(workload)))
}
