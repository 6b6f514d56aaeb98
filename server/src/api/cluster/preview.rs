//! REST operation: preview cluster.

use axum::Json;
use axum::extract::State;
use domain::placement::REMOVAL_NOTICE_MINUTES;
use hub::{ClusterEditPreview, Error, Hub};
use wire::{ClusterPatch, ClusterPreview};

use crate::input::{Body, ClusterPath, Path};
use crate::problem::ApiError;

/// What it would do to change a cluster: which workloads would leave it. Stores nothing.
#[utoipa::path(
    post,
    path = "/api/v1/clusters/{cluster}/-/preview",
    tag = "clusters",
    request_body = ClusterPatch,
    responses((status = 200, body = ClusterPreview))
)]
pub async fn preview_cluster(
    State(hub): State<Hub>,
    Path(path): Path<ClusterPath>,
    Body(patch): Body<ClusterPatch>,
) -> Result<Json<ClusterPreview>, ApiError> {
    let ClusterEditPreview { leaving, findings } = hub.preview_cluster_edit(&path.cluster, patch).await?;
    if !findings.is_empty() {
        return Err(Error::Invalid(findings).into());
    }
    Ok(Json(ClusterPreview { leaving, removal_notice_minutes: REMOVAL_NOTICE_MINUTES }))
}
