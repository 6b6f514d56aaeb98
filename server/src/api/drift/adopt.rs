//! REST operation: adopt drift.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::drift::DriftAdoptRequest;
use domain::workload::Workload;
use hub::Hub;

use super::DriftPath;
use crate::content_json::ContentJson;
use crate::etag::{RequiredIfMatch, etag_header};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Writes live values into the draft of the workload: into its manifests (`base`), or into the override of this cluster alone
/// (`override`), which is created if there is none. Nothing is published: review the draft with a plan, then publish it. `If-Match` is
/// required: the entry's `workloadVersion`.
#[utoipa::path(
    post,
    path = "/api/v1/drift/{drift}/-/adopt",
    tag = "drift",
    params(("If-Match" = String, Header, description = "The entry's `workloadVersion` as an ETag, such as `\"7\"`, or `*`")),
    request_body = DriftAdoptRequest,
    responses((status = 200, body = Workload, headers(("ETag")), description = "The workload with the changed draft"))
)]
pub async fn adopt_drift(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DriftPath>,
    RequiredIfMatch(revision): RequiredIfMatch,
    Body(request): Body<DriftAdoptRequest>,
) -> Result<(HeaderMap, ContentJson<Workload>), ApiError> {
    let workload = hub.adopt_drift(&actor, path.id()?, &request, revision).await?;
    Ok((etag_header(workload.revision), ContentJson(workload)))
}
