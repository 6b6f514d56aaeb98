//! REST operations: preview and make the chart inside an object of another tool the source of a draft.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::chart_envelope::ChartUnwrapping;
use domain::workload::Workload;
use hub::Hub;

use crate::content_json::ContentJson;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// What the draft would have with the chart of its `HelmChart` (K3s), `HelmRelease` (Flux) or `Application` (Argo CD) as the source: the
/// chart, its values, policies, and everything that is not carried over, each with its reason. Stores nothing.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/previewUnwrapping",
    tag = "workloads",
    responses((status = 200, body = ChartUnwrapping))
)]
pub async fn preview_unwrapping(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
) -> Result<Json<ChartUnwrapping>, ApiError> {
    Ok(Json(hub.preview_unwrapping(&actor, &path.workload).await?))
}

/// Makes the chart of the object in the draft its source, with the values and policies that the preview shows. Clusters don't change
/// before a publish.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/unwrapChart",
    tag = "workloads",
    params(("If-Match" = Option<String>, Header, description = "The ETag of the draft that was read")),
    responses((status = 200, body = Workload, headers(("ETag"))))
)]
pub async fn unwrap_chart(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    expected: IfMatch,
) -> Result<(HeaderMap, ContentJson<Workload>), ApiError> {
    let workload = Box::pin(hub.unwrap_chart(&actor, &path.workload, expected.0)).await?;
    Ok((etag_header(workload.revision), ContentJson(workload)))
}
