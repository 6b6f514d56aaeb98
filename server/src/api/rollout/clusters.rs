//! REST operation: list rollout clusters.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::page::Page;
use domain::rollout::{RolloutCluster, RolloutClusterQuery};
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{ListParams, Path, Query, WorkloadPath, page_response};
use crate::problem::ApiError;

/// Which clusters to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RolloutClusterParams {
    /// Number of the revision; by default the published one.
    pub revision: Option<u32>,
    /// Only clusters of the wave with this name.
    pub wave: Option<String>,
    /// At most this many items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// The previous page's `next`.
    pub cursor: Option<String>,
    /// Only clusters whose name contains this.
    pub q: Option<String>,
    /// Only clusters whose release is in one of these states, comma-separated, such as `Failed,Degraded`.
    pub state: Option<String>,
}

/// One page of the clusters of a rollout, by wave and name: what the rollout counts each as, its state and its revisions. Clusters on which
/// another revision is desired by now are none of it.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/rollout/clusters",
    tag = "rollouts",
    params(RolloutClusterParams),
    responses((status = 200, body = Page<RolloutCluster>))
)]
pub async fn list_rollout_clusters(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
    Query(params): Query<RolloutClusterParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<RolloutCluster>>), ApiError> {
    let RolloutClusterParams { revision, wave, limit, cursor, q, state } = params;
    let list = ListParams { limit, cursor, q, state, ..ListParams::default() }.into_list_query()?;
    let query = RolloutClusterQuery { revision, wave, list };
    let (_, page) = hub.list_rollout_clusters(&path.workload, &query).await?;
    Ok(page_response(page, &uri))
}
