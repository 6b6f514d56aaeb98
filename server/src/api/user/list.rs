//! REST operation: list users.

use axum::Json;
use axum::extract::State;
use domain::user::User;
use hub::Hub;

use crate::input::Caller;
use crate::problem::ApiError;

/// All users with their roles, by name.
#[utoipa::path(
    get,
    path = "/api/v1/users",
    tag = "users",
    responses((status = 200, body = Vec<User>))
)]
pub async fn list_users(State(hub): State<Hub>, Caller(actor): Caller) -> Result<Json<Vec<User>>, ApiError> {
    Ok(Json(hub.list_users(&actor).await?))
}
