//! `GET /registrations`

use axum::Json;
use axum::extract::State;
use domain::join::Registration;
use hub::Hub;
use wire::Problem;

use crate::problem::ApiError;

/// Pending and rejected registrations of agents, oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/registrations",
    tag = "clusters",
    operation_id = "listRegistrations",
    responses(
        (status = 200, body = Vec<Registration>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>) -> Result<Json<Vec<Registration>>, ApiError> {
    Ok(Json(hub.list_registrations().await?))
}
