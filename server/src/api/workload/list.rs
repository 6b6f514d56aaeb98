//! `GET …/workloads`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::workload::WorkloadSummary;
use hub::Hub;
use wire::Problem;

use crate::input::{ListParams, Path, ProjectPath, Query, page_response};
use crate::problem::ApiError;

/// One page of workloads, by name.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads",
    tag = "workloads",
    operation_id = "listWorkloads",
    params(("project" = String, Path, description = "`default`"), ListParams),
    responses(
        (status = 200, body = Page<WorkloadSummary>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<WorkloadSummary>>), ApiError> {
    Ok(page_response(hub.list_workloads(&params.into_list_query()?).await?, &uri))
}
