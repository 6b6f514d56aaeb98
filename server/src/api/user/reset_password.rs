//! REST operation: reset password.

use axum::Json;
use axum::extract::State;
use domain::user::PasswordLink;
use hub::Hub;

use super::UserPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Creates a link with which the user sets a new password within a day, which ends the sessions of the user.
///
/// The link is only in this response, also if it is repeated with the same `Idempotency-Key`.
#[utoipa::path(
    post,
    path = "/api/v1/users/{user}/-/resetPassword",
    tag = "users",
    responses((status = 200, body = PasswordLink))
)]
pub async fn reset_password(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
) -> Result<Json<PasswordLink>, ApiError> {
    Ok(Json(hub.reset_password(&actor, &path.user).await?))
}
