//! REST operation: disable group feature.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::placement::FeatureStatus;
use hub::Hub;
use wire::Problem;

use super::FeaturePath;
use crate::api::deployment::reject;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Disables a feature. Without the feature `deployment`, the deployments of the group are deleted.
#[utoipa::path(
    delete,
    path = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/features/{feature}",
    tag = "cluster groups",
    responses(
        (status = 202, body = FeatureStatus),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "It is being disabled")
    )
)]
pub async fn disable_group_feature(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<FeaturePath>,
) -> Result<(StatusCode, Json<FeatureStatus>), ApiError> {
    let status = hub.disable_group_feature(&actor, &path.clustergroup, &path.feature).await;
    Ok((StatusCode::ACCEPTED, Json(status.map_err(reject)?)))
}
