//! REST operation: verify the audit log.

use axum::Json;
use axum::extract::State;
use domain::audit::AuditVerification;
use hub::Hub;

use crate::input::Caller;
use crate::problem::ApiError;

/// Reads the whole audit log and verifies its chain of hashes.
#[utoipa::path(
    get,
    path = "/api/v1/audit/verification",
    tag = "audit",
    responses((status = 200, body = AuditVerification))
)]
pub async fn verify_audit(
    State(hub): State<Hub>,
    Caller(actor): Caller,
) -> Result<Json<AuditVerification>, ApiError> {
    Ok(Json(hub.verify_audit(&actor).await?))
}
