//! REST operation: get onboarding.

use axum::Json;
use axum::extract::State;
use domain::join::Onboarding;
use hub::Hub;

use crate::input::{ClusterPath, Path};
use crate::problem::ApiError;

/// The stages of a cluster that joins: from the generated manifests until it is online. No stage has a time limit.
#[utoipa::path(
    get,
    path = "/api/v1/clusters/{cluster}/onboarding",
    tag = "clusters",
    responses((status = 200, body = Onboarding))
)]
pub async fn get_onboarding(
    State(hub): State<Hub>,
    Path(path): Path<ClusterPath>,
) -> Result<Json<Onboarding>, ApiError> {
    Ok(Json(hub.get_onboarding(&path.cluster).await?))
}
