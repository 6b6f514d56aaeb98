//! REST operation: list group features.

use axum::Json;
use axum::extract::State;
use domain::placement::FeatureStatus;
use hub::Hub;

use super::ClusterGroupPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// The features of a cluster group with their reconcile state (S1-2).
#[utoipa::path(
    get,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/features",
    tag = "cluster groups",
    responses(
        (status = 200, body = Vec<FeatureStatus>)
    )
)]
pub async fn list_group_features(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ClusterGroupPath>,
) -> Result<Json<Vec<FeatureStatus>>, ApiError> {
    let features = hub.list_group_features(&path.clustergroup).await?;
    Ok(Json(hub.hide_secrets(&actor, features).await?))
}
