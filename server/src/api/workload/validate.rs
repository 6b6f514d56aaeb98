//! `POST …/workloads:validate`

use axum::Json;
use axum::extract::State;
use domain::workload::WorkloadSpec;
use hub::Hub;
use wire::{Check, Problem, ValidateRequest};

use crate::input::{At, Body, InProject};
use crate::problem::Refusal;

/// Guard rails and placement preview of a draft; stores nothing (S0-14).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads:validate",
    tag = "workloads",
    operation_id = "workloadValidate",
    params(("project" = String, Path, description = "`default`")),
    request_body = ValidateRequest,
    responses(
        (status = 200, body = Check),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(InProject {}): At<InProject>,
    Body(request): Body<ValidateRequest>,
) -> Result<Json<Check>, Refusal> {
    check(&hub, &request.name, &request.spec).await.map(Json)
}

/// What the hub says of a draft, in the wire's words.
pub async fn check(hub: &Hub, name: &str, spec: &WorkloadSpec) -> Result<Check, Refusal> {
    let checked = hub.workload_check(name, spec).await?;
    Ok(Check { findings: checked.findings, decision: checked.decision })
}
