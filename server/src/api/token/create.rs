//! REST operation: create token.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::{ApiTokenCreated, NewApiToken};

use crate::input::{Body, Caller};
use crate::problem::ApiError;

/// Creates an API token for the user of the caller, with a role that is not above it.
///
/// The secret is only in this response; a repeated request with the same
/// `Idempotency-Key` gets the token without it.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    tag = "tokens",
    request_body = NewApiToken,
    responses((status = 201, body = ApiTokenCreated))
)]
pub async fn create_token(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(new): Body<NewApiToken>,
) -> Result<(StatusCode, Json<ApiTokenCreated>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.create_token(&actor, &new).await?)))
}
