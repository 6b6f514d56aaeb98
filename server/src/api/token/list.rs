//! REST operation: list tokens.

use axum::Json;
use axum::extract::State;
use hub::{Hub, TokenInfo};
use wire::{ApiToken, Problem};

use crate::input::Caller;
use crate::problem::ApiError;

/// The caller's tokens, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/tokens",
    tag = "tokens",
    responses((status = 200, body = Vec<ApiToken>))
)]
pub async fn handler(State(hub): State<Hub>, Caller(actor): Caller) -> Result<Json<Vec<ApiToken>>, ApiError> {
    Ok(Json(hub.list_tokens(&actor).await?.into_iter().map(to_api_token).collect()))
}

fn to_api_token(info: TokenInfo) -> ApiToken {
    ApiToken { id: info.id, name: info.name, last_used_at: info.last_used_at, expires_at: info.expires_at }
}
