//! REST operation: validate workload.

use axum::Json;
use axum::extract::State;
use domain::workload::WorkloadSpec;
use hub::Hub;
use wire::{ValidateRequest, ValidationResult};

use crate::input::{Body, Path, ProjectPath};
use crate::problem::ApiError;

/// Guard-rail findings and placement decision of a draft; stores nothing (S0-14).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads:validate",
    tag = "workloads",
    request_body = ValidateRequest,
    responses((status = 200, body = ValidationResult))
)]
pub async fn validate_workload(
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
