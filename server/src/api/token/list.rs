//! REST operation: list tokens.

use axum::Json;
use axum::extract::State;
use hub::Hub;
use wire::ApiToken;

use crate::input::Caller;
use crate::problem::ApiError;

/// The caller's tokens, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/tokens",
    tag = "tokens",
    responses((status = 200, body = Vec<ApiToken>))
)]
pub async fn list_tokens(
    State(hub): State<Hub>,
    Caller(actor): Caller,
) -> Result<Json<Vec<ApiToken>>, ApiError> {
    Ok(Json(hub.list_tokens(&actor).await?))
}
