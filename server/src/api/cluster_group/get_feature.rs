//! REST operation: get group feature.

use axum::Json;
use axum::extract::State;
use domain::placement::FeatureStatus;
use hub::Hub;

use super::FeaturePath;
use crate::api::deployment::reject;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// One feature of a cluster group.
#[utoipa::path(
    get,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/features/{feature}",
    tag = "cluster groups",
    responses(
        (status = 200, body = FeatureStatus)
    )
)]
pub async fn get_group_feature(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<FeaturePath>,
) -> Result<Json<FeatureStatus>, ApiError> {
    let feature = hub.get_group_feature(&path.clustergroup, &path.feature).await.map_err(reject)?;
    Ok(Json(hub.hide_secrets(&actor, feature).await?))
}
