//! REST operation: get fleet.

use axum::Json;
use axum::extract::State;
use domain::fleet::FleetOverview;
use hub::Hub;

use crate::input::{ListParams, Query};
use crate::problem::ApiError;

/// Overview of the fleet: matrix of workloads and clusters, items that need attention, recent events.
#[utoipa::path(
    get,
    path = "/api/v1/fleet",
    tag = "fleet",
    params(ListParams),
    responses((status = 200, body = FleetOverview))
)]
pub async fn get_fleet(
    State(hub): State<Hub>,
    Query(params): Query<ListParams>,
) -> Result<Json<FleetOverview>, ApiError> {
    Ok(Json(hub.get_fleet(&params.into_list_query()?).await?))
}
