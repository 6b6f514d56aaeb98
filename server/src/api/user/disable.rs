//! REST operation: disable user.

use axum::Json;
use axum::extract::State;
use domain::user::User;
use hub::Hub;

use super::UserPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Disables a user: no session, no API token and no link of the user is accepted any more. The last administrator stays.
#[utoipa::path(
    post,
    path = "/api/v1/users/{user}/-/disable",
    tag = "users",
    responses((status = 200, body = User))
)]
pub async fn disable_user(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
) -> Result<Json<User>, ApiError> {
    Ok(Json(hub.disable_user(&actor, &path.user).await?))
}
