//! REST operation: list operations.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::operation::Operation;
use domain::page::Page;
use hub::Hub;

use crate::input::{ListParams, Path, Query, WorkloadPath, page_response};
use crate::problem::ApiError;

/// One page of the operations on a workload, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/operations",
    tag = "operations",
    params(ListParams),
    responses(
        (status = 200, body = Page<Operation>)
    )
)]
pub async fn list_operations(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<Operation>>), ApiError> {
    Ok(page_response(hub.list_operations(&path.workload, &params.into_list_query()?).await?, &uri))
}
