//! `POST …/workloads:validate`

use axum::Json;
use axum::extract::State;
use domain::workload::WorkloadSpec;
use hub::Hub;
use wire::{Problem, ValidateRequest, ValidationResult};

use crate::input::{Body, Path, ProjectPath};
use crate::problem::ApiError;

/// Guard-rail findings and placement decision of a draft; stores nothing (S0-14).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads:validate",
    tag = "workloads",
    operation_id = "validateWorkload",
    params(("project" = String, Path, description = "`default`")),
    request_body = ValidateRequest,
    responses(
        (status = 200, body = ValidationResult),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Body(request): Body<ValidateRequest>,
) -> Result<Json<ValidationResult>, ApiError> {
    check_workload(&hub, &request.name, &request.spec).await.map(Json)
}

/// Checks a draft and converts the result to the REST type.
pub async fn check_workload(
    hub: &Hub,
    name: &str,
    spec: &WorkloadSpec,
) -> Result<ValidationResult, ApiError> {
    let checked = hub.check_workload(name, spec).await?;
    Ok(ValidationResult { findings: checked.findings, decision: checked.decision })
}
