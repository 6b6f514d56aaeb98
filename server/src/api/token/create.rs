//! `POST /tokens`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::{NewToken, Problem, TokenCreated};

use crate::input::{Body, Caller};
use crate::problem::Refusal;

/// Makes a token that acts as the caller. The secret is in this answer and nowhere else; it is not replayed for an
/// `Idempotency-Key`, because then it would have to be kept.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    tag = "tokens",
    operation_id = "tokenCreate",
    request_body = NewToken,
    responses(
        (status = 201, body = TokenCreated),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<TokenCreated>), Refusal> {
    let made = hub.token_create(&actor, &new.name, new.days).await?;
    Ok((StatusCode::CREATED, Json(TokenCreated { id: made.id, secret: made.secret })))
}
