//! REST operation: search charts.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::chart_repository::CatalogChart;
use domain::page::{ListQuery, MAX_LIMIT, Page};
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Path, ProjectPath, Query, page_response};
use crate::problem::ApiError;

/// Selects charts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CatalogParams {
    /// At most this many items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The previous page's `next`.
    cursor: Option<String>,
    /// Only charts with each of these words in their name or description.
    q: Option<String>,
}

/// The charts that can be used: uploaded ones, fetched ones, and those in the indexes of the repositories. OCI registries have no
/// list of their charts; their charts are used by name.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/chart-catalog",
    tag = "charts",
    params(CatalogParams),
    responses((status = 200, body = Page<CatalogChart>))
)]
pub async fn search_charts(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Query(params): Query<CatalogParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<CatalogChart>>), ApiError> {
    if params.limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
        return Err(ApiError::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
    }
    let query = ListQuery {
        limit: params.limit,
        cursor: params.cursor,
        q: params.q.unwrap_or_default(),
        ..ListQuery::default()
    };
    Ok(page_response(hub.search_charts(&query).await?, &uri))
}
