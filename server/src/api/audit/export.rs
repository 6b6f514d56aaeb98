//! REST operation: export the audit log.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::audit_format::AuditFormat;
use crate::input::{Caller, Query};
use crate::problem::ApiError;

/// Entries of one response.
const BATCH: u32 = 1000;

/// Which entries to export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditExportParams {
    /// The position of the last entry that the client has; 0 for none.
    #[param(required = false)]
    pub after: i64,
    /// The format of an entry.
    #[param(required = false, inline)]
    pub format: AuditFormat,
}

/// The next entries after a position, at most 1000, oldest first, one JSON document per line. An empty response is the end.
#[utoipa::path(
    get,
    path = "/api/v1/audit/export",
    tag = "audit",
    params(AuditExportParams),
    responses((status = 200, content_type = "application/jsonl", body = String))
)]
pub async fn export_audit(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Query(params): Query<AuditExportParams>,
) -> Result<Response, ApiError> {
    let entries = hub.export_audit(&actor, params.after, BATCH).await?;
    let text: String = entries.iter().map(|entry| params.format.format_line(entry)).collect();
    Ok(([(CONTENT_TYPE, "application/jsonl")], text).into_response())
}
