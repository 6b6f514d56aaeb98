//! REST operation: list clusters.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::cluster::ClusterSummary;
use domain::page::Page;
use hub::Hub;

use crate::input::{Caller, ListParams, Query, page_response};
use crate::problem::ApiError;

/// One page of clusters, by name.
#[utoipa::path(
    get,
    path = "/api/v1/clusters",
    tag = "clusters",
    params(ListParams),
    responses((status = 200, body = Page<ClusterSummary>))
)]
pub async fn list_clusters(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<ClusterSummary>>), ApiError> {
    let page = hub.list_clusters(&params.into_list_query()?).await?;
    Ok(page_response(hub.hide_secrets(&actor, page).await?, &uri))
}
