//! REST operation: revert fields that drift.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::drift::{DriftItem, DriftRevertRequest};
use hub::Hub;

use super::DriftPath;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Requests the cluster to write these fields back, and nothing else of the object. The entry has the request as `revert` until the cluster has
/// answered, and then why it was not executed if it was not: what the server can't change alone, as in a list that it replaces as a whole, stays.
#[utoipa::path(
    post,
    path = "/api/v1/drift/{drift}/-/revertFields",
    tag = "drift",
    request_body = DriftRevertRequest,
    responses((status = 202, body = DriftItem))
)]
pub async fn revert_drift_fields(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DriftPath>,
    Body(request): Body<DriftRevertRequest>,
) -> Result<(StatusCode, Json<DriftItem>), ApiError> {
    Ok((StatusCode::ACCEPTED, Json(hub.revert_drift_fields(&actor, path.id()?, &request).await?)))
}
