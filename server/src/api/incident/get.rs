//! REST operation: get incident.

use axum::Json;
use axum::extract::State;
use domain::notification::IncidentDetails;
use hub::Hub;

use super::IncidentPath;
use crate::input::Path;
use crate::problem::ApiError;

/// One incident, with what was sent about it, and the subscriptions that it was not sent to, with the reason.
#[utoipa::path(
    get,
    path = "/api/v1/incidents/{incident}",
    tag = "incidents",
    responses((status = 200, body = IncidentDetails))
)]
pub async fn get_incident(
    State(hub): State<Hub>,
    Path(path): Path<IncidentPath>,
) -> Result<Json<IncidentDetails>, ApiError> {
    Ok(Json(hub.get_incident(path.id()?).await?))
}
