//! REST operation: list user tokens.

use axum::Json;
use axum::extract::State;
use hub::Hub;
use wire::ApiToken;

use super::UserPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// The API tokens of a user, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/users/{user}/tokens",
    tag = "users",
    responses((status = 200, body = Vec<ApiToken>))
)]
pub async fn list_user_tokens(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
) -> Result<Json<Vec<ApiToken>>, ApiError> {
    Ok(Json(hub.list_user_tokens(&actor, &path.user).await?))
}
