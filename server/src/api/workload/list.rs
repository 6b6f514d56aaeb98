//! REST operation: list workloads.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::workload::WorkloadSummary;
use hub::Hub;

use crate::input::{ListParams, Path, ProjectPath, Query, page_response};
use crate::problem::ApiError;

/// One page of workloads, by name.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads",
    tag = "workloads",
    params(ListParams),
    responses((status = 200, body = Page<WorkloadSummary>))
)]
pub async fn list_workloads(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<WorkloadSummary>>), ApiError> {
    Ok(page_response(hub.list_workloads(&params.into_list_query()?).await?, &uri))
}
