//! REST operation: validate workload.

use axum::Json;
use axum::extract::State;
use hub::Hub;
use wire::{ValidateRequest, ValidationResult};

use crate::input::{Body, Caller, Path, ProjectPath};
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
    Caller(actor): Caller,
    Path(ProjectPath {}): Path<ProjectPath>,
    Body(request): Body<ValidateRequest>,
) -> Result<Json<ValidationResult>, ApiError> {
    let checked = hub.check_workload(&actor, &request.name, &request.spec).await?;
    Ok(Json(ValidationResult { findings: checked.findings, decision: checked.decision }))
}
