//! REST operation: delete cluster.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Caller, ClusterPath, Path, Query};
use crate::problem::ApiError;

/// Query parameters.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteClusterQuery {
    /// `true`: also if it still has releases; their objects stay on the cluster.
    #[param(required = false)]
    pub force: bool,
}

/// Deletes a cluster without releases; with `force`, any cluster.
#[utoipa::path(
    delete,
    path = "/api/v1/clusters/{cluster}",
    tag = "clusters",
    params(DeleteClusterQuery),
    responses((status = 204, description = "The cluster is deleted"))
)]
pub async fn delete_cluster(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterPath>,
    Query(params): Query<DeleteClusterQuery>,
) -> Result<StatusCode, ApiError> {
    hub.delete_cluster(&actor, &path.cluster, params.force).await?;
    Ok(StatusCode::NO_CONTENT)
}
