//! `GET /registrations`

use axum::Json;
use axum::extract::State;
use domain::join::Registration;
use hub::Hub;
use wire::Problem;

use crate::problem::Refusal;

/// Agents that wait for a person, and those that were refused; oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/registrations",
    tag = "clusters",
    operation_id = "registrationList",
    responses(
        (status = 200, body = Vec<Registration>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>) -> Result<Json<Vec<Registration>>, Refusal> {
    Ok(Json(hub.registration_list().await?))
}
