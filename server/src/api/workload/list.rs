//! REST operation: list workloads.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::workload::{WorkloadOrder, WorkloadSummary};
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{ListParams, Path, ProjectPath, Query, page_response};
use crate::problem::ApiError;

/// Query parameters of the list of workloads.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkloadListParams {
    /// At most this many items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// The previous page's `next`, which belongs to its order.
    pub cursor: Option<String>,
    /// Only names that contain this.
    pub q: Option<String>,
    /// Only items with a release in one of these states, comma-separated, such as `Failed,Degraded`.
    pub state: Option<String>,
    /// Only items with these labels, in the syntax of `kubectl -l`.
    pub label_selector: Option<String>,
    /// The order: `name` is the default.
    #[param(inline, required = false)]
    pub order: WorkloadOrder,
}

/// One page of workloads.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads",
    tag = "workloads",
    params(WorkloadListParams),
    responses((status = 200, body = Page<WorkloadSummary>))
)]
pub async fn list_workloads(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Query(params): Query<WorkloadListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<WorkloadSummary>>), ApiError> {
    let WorkloadListParams { limit, cursor, q, state, label_selector, order } = params;
    let query = ListParams { limit, cursor, q, state, label_selector }.into_list_query()?;
    Ok(page_response(hub.list_workloads(&query, order).await?, &uri))
}
