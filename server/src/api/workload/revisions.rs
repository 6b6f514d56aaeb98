//! REST operation: list revisions.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::workload::Revision;
use hub::Hub;

use crate::input::{Caller, ListParams, Path, Query, WorkloadPath, page_response};
use crate::problem::ApiError;

/// One page of a workload's revisions, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/revisions",
    tag = "workloads",
    params(ListParams),
    responses((status = 200, body = Page<Revision>))
)]
pub async fn list_revisions(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<Revision>>), ApiError> {
    Ok(page_response(hub.list_revisions(&actor, &path.workload, &params.into_list_query()?).await?, &uri))
}
