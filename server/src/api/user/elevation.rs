//! REST operations: elevate a user, and end it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::user::{NewElevation, User};
use hub::Hub;

use super::UserPath;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Gives a user a higher role until a time, with the reason. It ends by itself.
#[utoipa::path(
    put,
    path = "/api/v1/users/{user}/elevation",
    tag = "users",
    request_body = NewElevation,
    responses((status = 200, body = User))
)]
pub async fn elevate_user(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
    Body(new): Body<NewElevation>,
) -> Result<Json<User>, ApiError> {
    Ok(Json(hub.elevate_user(&actor, &path.user, &new).await?))
}

/// Ends the higher role of a user before its time.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{user}/elevation",
    tag = "users",
    responses((status = 204, description = "The user has the role from before"))
)]
pub async fn end_elevation(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
) -> Result<StatusCode, ApiError> {
    hub.end_elevation(&actor, &path.user).await?;
    Ok(StatusCode::NO_CONTENT)
}
