//! `GET /clusters/{cluster}/releases`

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::release::ReleaseView;
use hub::Hub;
use wire::Problem;

use crate::input::{At, ListParams, OfCluster, Query, paged};
use crate::problem::Refusal;

/// One page of the releases on a cluster, worst first; without their resources.
#[utoipa::path(
    get,
    path = "/api/v1/clusters/{cluster}/releases",
    tag = "clusters",
    operation_id = "clusterReleases",
    params(("cluster" = String, Path), ListParams),
    responses(
        (status = 200, body = Page<ReleaseView>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfCluster>,
    Query(params): Query<ListParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<ReleaseView>>), Refusal> {
    Ok(paged(hub.cluster_releases(&of.cluster, &params.checked()?).await?, &uri))
}
