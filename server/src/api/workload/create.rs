//! `POST …/workloads`

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::workload::{NewWorkload, Workload};
use hub::Hub;
use wire::{Check, Problem};

use crate::etag::etag;
use crate::input::{At, Body, Caller, DryRun, InProject, PROJECT, Query};
use crate::problem::Refusal;

/// Makes a draft. A draft may have findings; only publishing is refused for them.
///
/// With `dryRun=true` nothing is stored and the findings and the placement decision are given.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads",
    tag = "workloads",
    operation_id = "workloadCreate",
    params(
        ("project" = String, Path, description = "`default`"),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is carried out once per key"),
        DryRun
    ),
    request_body = NewWorkload,
    responses(
        (status = 201, body = Workload, description = "The workload with its draft"),
        (status = 200, body = Check, description = "Dry run: what would be found"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(InProject {}): At<InProject>,
    Query(dry): Query<DryRun>,
    Body(new): Body<NewWorkload>,
) -> Result<Response, Refusal> {
    if dry.dry_run {
        return dry_run(&hub, &new).await;
    }
    let workload = hub.workload_create(&actor, new).await?;
    let mut headers = etag(workload.revision);
    let location = format!("/api/v1/projects/{PROJECT}/workloads/{}", workload.name);
    if let Ok(location) = HeaderValue::from_str(&location) {
        headers.insert(LOCATION, location);
    }
    Ok((StatusCode::CREATED, headers, Json(workload)).into_response())
}

async fn dry_run(hub: &Hub, new: &NewWorkload) -> Result<Response, Refusal> {
    let checked = hub.workload_create_check(new).await?;
    Ok(Json(Check { findings: checked.findings, decision: checked.decision }).into_response())
}
