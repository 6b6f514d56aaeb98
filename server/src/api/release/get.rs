//! REST operation: get release.

use axum::Json;
use axum::extract::State;
use domain::release::ReleaseView;
use hub::Hub;
use serde::Deserialize;

use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Path parameters of a release.
#[derive(Debug, Deserialize)]
pub struct ReleasePath {
    /// The workload.
    workload: String,
    /// The cluster.
    cluster: String,
}

/// One release with its resources.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/releases/{cluster}",
    tag = "releases",
    responses((status = 200, body = ReleaseView))
)]
pub async fn get_release(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ReleasePath>,
) -> Result<Json<ReleaseView>, ApiError> {
    let release = hub.get_release(&path.workload, &path.cluster).await?;
    Ok(Json(hub.hide_secrets(&actor, release).await?))
}
