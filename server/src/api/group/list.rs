//! REST operation: list groups.

use axum::Json;
use axum::extract::State;
use domain::placement::ClusterGroup;
use hub::Hub;

use crate::input::Caller;
use crate::problem::ApiError;

/// All cluster groups, by name. Locked values that are secrets are `(hidden)` for a role that may not change groups.
#[utoipa::path(
    get,
    path = "/api/v1/cluster-groups",
    tag = "groups",
    responses((status = 200, body = Vec<ClusterGroup>))
)]
pub async fn list_groups(
    State(hub): State<Hub>,
    Caller(actor): Caller,
) -> Result<Json<Vec<ClusterGroup>>, ApiError> {
    let groups = hub.list_groups().await?;
    Ok(Json(hub.hide_secrets(&actor, groups).await?))
}
