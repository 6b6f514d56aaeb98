//! REST operation: create workload.

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::workload::{NewWorkload, Workload};
use hub::{Actor, Hub};
use wire::ValidationResult;

use crate::content_json::ContentJson;
use crate::etag::etag_header;
use crate::input::{Body, Caller, DryRunQuery, Path, ProjectPath, Query};
use crate::problem::ApiError;

/// Creates a draft. A draft may have findings; only publishing is rejected for them.
///
/// With `dryRun=true` nothing is stored and the findings and the placement decision are returned.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads",
    tag = "workloads",
    params(DryRunQuery),
    request_body = NewWorkload,
    responses(
        (status = 201, body = Workload, headers(("ETag"), ("Location")), description = "The workload with its draft"),
        (status = 200, body = ValidationResult, description = "Dry run: findings and placement decision")
    )
)]
pub async fn create_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(ProjectPath {}): Path<ProjectPath>,
    Query(dry): Query<DryRunQuery>,
    Body(new): Body<NewWorkload>,
) -> Result<Response, ApiError> {
    if dry.dry_run {
        return check_new_workload(&hub, &actor, &new).await;
    }
    Ok(created_response(hub.create_workload(&actor, new).await?))
}

/// 201 with the address and the version of a new workload.
pub fn created_response(workload: Workload) -> Response {
    let mut headers = etag_header(workload.revision);
    if let Ok(location) = HeaderValue::from_str(&hub::workload_path(&workload.name)) {
        headers.insert(LOCATION, location);
    }
    (StatusCode::CREATED, headers, ContentJson(workload)).into_response()
}

async fn check_new_workload(hub: &Hub, actor: &Actor, new: &NewWorkload) -> Result<Response, ApiError> {
    let checked = hub.check_workload_create(actor, new).await?;
    Ok(Json(ValidationResult { findings: checked.findings, decision: checked.decision }).into_response())
}
