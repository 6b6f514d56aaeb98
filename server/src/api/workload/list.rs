//! `GET …/workloads`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::workload::WorkloadSummary;
use hub::Hub;
use wire::Problem;

use crate::input::{At, InProject, ListParams, Query, paged};
use crate::problem::Refusal;

/// One page of workloads, by name.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads",
    tag = "workloads",
    operation_id = "workloadList",
    params(("project" = String, Path, description = "`default`"), ListParams),
    responses(
        (status = 200, body = Page<WorkloadSummary>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(InProject {}): At<InProject>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<WorkloadSummary>>), Refusal> {
    Ok(paged(hub.workload_list(&params.checked()?).await?, &uri))
}
