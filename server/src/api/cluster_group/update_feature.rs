//! REST operation: update group feature.

use axum::Json;
use axum::extract::State;
use domain::placement::{FeatureProperties, FeatureStatus};
use hub::Hub;
use wire::Problem;

use super::FeaturePath;
use crate::api::deployment::reject;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Replaces the properties of a feature, and enables it.
#[utoipa::path(
    put,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/features/{feature}",
    tag = "cluster groups",
    request_body = Object,
    responses(
        (status = 200, body = FeatureStatus),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "Its last change is in progress")
    )
)]
pub async fn update_group_feature(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<FeaturePath>,
    Body(properties): Body<FeatureProperties>,
) -> Result<Json<FeatureStatus>, ApiError> {
    let feature = (path.feature.as_str(), properties);
    Ok(Json(hub.enable_group_feature(&actor, &path.clustergroup, feature).await.map_err(reject)?))
}
