//! `GET …/workloads/{workload}/releases`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::release::ReleaseView;
use hub::Hub;
use wire::Problem;

use crate::input::{At, ListParams, OfWorkload, Query, paged};
use crate::problem::Refusal;

/// One page of a workload's releases, worst first; without their resources.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/releases",
    tag = "releases",
    operation_id = "releaseList",
    params(("project" = String, Path, description = "`default`"), ("workload" = String, Path), ListParams),
    responses(
        (status = 200, body = Page<ReleaseView>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfWorkload>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<ReleaseView>>), Refusal> {
    Ok(paged(hub.release_list(&of.workload, &params.checked()?).await?, &uri))
}
