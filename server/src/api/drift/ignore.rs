//! REST operation: ignore drift.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::drift::DriftIgnoreRequest;
use domain::workload::Workload;
use hub::Hub;

use super::DriftPath;
use crate::content_json::ContentJson;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Adds a rule to the policies of the draft that leaves fields to others once the object exists. It takes effect with the next publish.
#[utoipa::path(
    post,
    path = "/api/v1/drift/{drift}/-/ignore",
    tag = "drift",
    params(("If-Match" = Option<String>, Header, description = "The entry's `workloadVersion` as an ETag, such as `\"7\"`")),
    request_body = DriftIgnoreRequest,
    responses((status = 200, body = Workload, headers(("ETag")), description = "The workload with the changed draft"))
)]
pub async fn ignore_drift(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DriftPath>,
    IfMatch(revision): IfMatch,
    Body(request): Body<DriftIgnoreRequest>,
) -> Result<(HeaderMap, ContentJson<Workload>), ApiError> {
    let workload = hub.ignore_drift_of(&actor, path.id()?, &request, revision).await?;
    Ok((etag_header(workload.revision), ContentJson(workload)))
}
