//! REST operation: list join tokens.

use axum::Json;
use axum::extract::State;
use domain::join::JoinToken;
use hub::Hub;

use crate::problem::ApiError;

/// The newest join tokens, including expired and revoked ones, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/join-tokens",
    tag = "clusters",
    responses((status = 200, body = Vec<JoinToken>))
)]
pub async fn list_join_tokens(State(hub): State<Hub>) -> Result<Json<Vec<JoinToken>>, ApiError> {
    Ok(Json(hub.list_join_tokens().await?))
}
