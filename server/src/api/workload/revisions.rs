//! `GET …/workloads/{workload}/revisions`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::workload::Revision;
use hub::Hub;
use wire::Problem;

use crate::input::{At, ListParams, OfWorkload, Query, paged};
use crate::problem::Refusal;

/// One page of its revisions, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/revisions",
    tag = "workloads",
    operation_id = "workloadRevisions",
    params(("project" = String, Path, description = "`default`"), ("workload" = String, Path), ListParams),
    responses(
        (status = 200, body = Page<Revision>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfWorkload>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<Revision>>), Refusal> {
    Ok(paged(hub.workload_revisions(&of.workload, &params.checked()?).await?, &uri))
}
