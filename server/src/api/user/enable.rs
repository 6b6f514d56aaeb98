//! REST operation: enable user.

use axum::Json;
use axum::extract::State;
use domain::user::User;
use hub::Hub;

use super::UserPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Enables a user again, with the role, the password and the API tokens from before.
#[utoipa::path(
    post,
    path = "/api/v1/users/{user}/-/enable",
    tag = "users",
    responses((status = 200, body = User))
)]
pub async fn enable_user(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
) -> Result<Json<User>, ApiError> {
    Ok(Json(hub.enable_user(&actor, &path.user).await?))
}
