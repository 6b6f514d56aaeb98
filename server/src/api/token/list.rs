//! `GET /tokens`

use axum::Json;
use axum::extract::State;
use hub::{Hub, TokenInfo};
use wire::{Problem, Token};

use crate::input::Caller;
use crate::problem::Refusal;

/// The caller's tokens, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/tokens",
    tag = "tokens",
    operation_id = "tokenList",
    responses(
        (status = 200, body = Vec<Token>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>, Caller(actor): Caller) -> Result<Json<Vec<Token>>, Refusal> {
    Ok(Json(hub.token_list(&actor).await?.into_iter().map(shown).collect()))
}

fn shown(info: TokenInfo) -> Token {
    Token { id: info.id, name: info.name, last_used_at: info.last_used_at, expires_at: info.expires_at }
}
