//! REST operation: get drift.

use axum::Json;
use axum::extract::State;
use domain::drift::DriftItem;
use hub::Hub;

use super::DriftPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// One entry of the drift inbox, with all reported fields and their desired values.
#[utoipa::path(
    get,
    path = "/api/v1/drift/{drift}",
    tag = "drift",
    responses((status = 200, body = DriftItem))
)]
pub async fn get_drift(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DriftPath>,
) -> Result<Json<DriftItem>, ApiError> {
    Ok(Json(hub.get_drift(&actor, path.id()?).await?))
}
