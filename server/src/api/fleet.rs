//! `GET /fleet`

use axum::Json;
use axum::extract::State;
use domain::fleet::Fleet;
use hub::Hub;
use wire::Problem;

use crate::input::{ListParams, Query};
use crate::problem::Refusal;

/// The fleet at a glance: workload × cluster, what needs a person, what changed lately.
#[utoipa::path(
    get,
    path = "/api/v1/fleet",
    tag = "fleet",
    operation_id = "fleet",
    params(ListParams),
    responses(
        (status = 200, body = Fleet),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Query(params): Query<ListParams>,
) -> Result<Json<Fleet>, Refusal> {
    Ok(Json(hub.fleet(&params.checked()?).await?))
}
