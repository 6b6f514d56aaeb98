//! REST operation: list releases.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::release::ReleaseView;
use hub::Hub;

use crate::input::{ListParams, Path, Query, WorkloadPath, page_response};
use crate::problem::ApiError;

/// One page of a workload's releases, worst first; without their resources.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/releases",
    tag = "releases",
    params(ListParams),
    responses((status = 200, body = Page<ReleaseView>))
)]
pub async fn list_releases(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<ReleaseView>>), ApiError> {
    Ok(page_response(hub.list_releases(&path.workload, &params.into_list_query()?).await?, &uri))
}
