//! `GET /clusters`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::cluster::ClusterSummary;
use domain::page::Page;
use hub::Hub;
use wire::Problem;

use crate::input::{ListParams, Query, paged};
use crate::problem::Refusal;

/// One page of clusters, by name.
#[utoipa::path(
    get,
    path = "/api/v1/clusters",
    tag = "clusters",
    operation_id = "clusterList",
    params(ListParams),
    responses(
        (status = 200, body = Page<ClusterSummary>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<ClusterSummary>>), Refusal> {
    Ok(paged(hub.cluster_list(&params.checked()?).await?, &uri))
}
