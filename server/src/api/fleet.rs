//! `GET /fleet`

use axum::Json;
use axum::extract::State;
use domain::fleet::FleetOverview;
use hub::Hub;
use wire::Problem;

use crate::input::{ListParams, Query};
use crate::problem::ApiError;

/// Overview of the fleet: matrix of workloads and clusters, items that need attention, recent events.
#[utoipa::path(
    get,
    path = "/api/v1/fleet",
    tag = "fleet",
    operation_id = "getFleet",
    params(ListParams),
    responses(
        (status = 200, body = FleetOverview),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Query(params): Query<ListParams>,
) -> Result<Json<FleetOverview>, ApiError> {
    Ok(Json(hub.get_fleet(&params.into_list_query()?).await?))
}
