//! REST operation: list cluster releases.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::release::ReleaseView;
use hub::Hub;

use crate::input::{ClusterPath, ListParams, Path, Query, page_response};
use crate::problem::ApiError;

/// One page of the releases on a cluster, worst first; without their resources.
#[utoipa::path(
    get,
    path = "/api/v1/clusters/{cluster}/releases",
    tag = "clusters",
    params(ListParams),
    responses((status = 200, body = Page<ReleaseView>))
)]
pub async fn list_cluster_releases(
    State(hub): State<Hub>,
    Path(path): Path<ClusterPath>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<ReleaseView>>), ApiError> {
    Ok(page_response(hub.list_cluster_releases(&path.cluster, &params.into_list_query()?).await?, &uri))
}
