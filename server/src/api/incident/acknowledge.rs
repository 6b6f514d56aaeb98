//! REST operation: acknowledge incident.

use axum::Json;
use axum::extract::State;
use domain::notification::IncidentDetails;
use hub::Hub;

use super::IncidentPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Records that the caller works on an open incident. If somebody has acknowledged it already, that stays.
#[utoipa::path(
    post,
    path = "/api/v1/incidents/{incident}/-/ack",
    tag = "incidents",
    responses((status = 200, body = IncidentDetails))
)]
pub async fn acknowledge_incident(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<IncidentPath>,
) -> Result<Json<IncidentDetails>, ApiError> {
    Ok(Json(hub.acknowledge_incident(&actor, path.id()?).await?))
}
