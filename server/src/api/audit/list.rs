//! REST operation: list the audit log.

use axum::Json;
use axum::extract::State;
use domain::audit::{AuditPage, AuditQuery};
use domain::page::MAX_LIMIT;
use hub::Hub;

use crate::input::{Caller, Query};
use crate::problem::ApiError;

/// Entries of the audit log, newest first. Follow `next` as `before` for older ones.
#[utoipa::path(
    get,
    path = "/api/v1/audit",
    tag = "audit",
    params(AuditQuery),
    responses((status = 200, body = AuditPage))
)]
pub async fn list_audit(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Query(query): Query<AuditQuery>,
) -> Result<Json<AuditPage>, ApiError> {
    if query.limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
        return Err(ApiError::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
    }
    Ok(Json(hub.list_audit(&actor, &query).await?))
}
