//! REST operation: invite user.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::user::{NewUser, PasswordLink};
use hub::Hub;

use crate::input::{Body, Caller};
use crate::problem::ApiError;

/// Creates a user, and a link with which the user sets a password within seven days.
///
/// The link is only in this response, also if it is repeated with the same `Idempotency-Key`.
#[utoipa::path(
    post,
    path = "/api/v1/users",
    tag = "users",
    request_body = NewUser,
    responses((status = 201, body = PasswordLink))
)]
pub async fn invite_user(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(new): Body<NewUser>,
) -> Result<(StatusCode, Json<PasswordLink>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.invite_user(&actor, new).await?)))
}
