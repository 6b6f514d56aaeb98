//! `PATCH …/workloads/{workload}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::{Hub, WorkloadEdit};
use wire::{Problem, WorkloadPatch};

use crate::etag::{IfMatch, etag};
use crate::input::{At, Body, Caller, OfWorkload};
use crate::problem::Refusal;

/// Changes labels; a value of `null` removes the label, labels not named stay.
#[utoipa::path(
    patch,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    operation_id = "workloadPatch",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The ETag that was read")
    ),
    request_body = WorkloadPatch,
    responses(
        (status = 200, body = Workload),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    IfMatch(seen): IfMatch,
    Body(patch): Body<WorkloadPatch>,
) -> Result<(HeaderMap, Json<Workload>), Refusal> {
    let before = hub.workload_view(&of.workload).await?.workload;
    let mut labels = before.labels;
    for (key, value) in patch.labels {
        match value {
            Some(value) => labels.insert(key, value),
            None => labels.remove(&key),
        };
    }
    let edit = WorkloadEdit { spec: None, labels: Some(labels) };
    // Merged with what was just read, so it must still be that: otherwise somebody else's label would be lost.
    let seen = seen.or(Some(before.revision));
    let workload = hub.workload_edit(&actor, &of.workload, edit, seen).await?;
    Ok((etag(workload.revision), Json(workload)))
}
