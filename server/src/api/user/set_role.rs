//! REST operation: set user role.

use axum::Json;
use axum::extract::State;
use domain::user::{RoleChange, User};
use hub::Hub;

use super::UserPath;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Changes the role of a user, from the next request on. The last administrator keeps the role.
#[utoipa::path(
    put,
    path = "/api/v1/users/{user}/role",
    tag = "users",
    request_body = RoleChange,
    responses((status = 200, body = User))
)]
pub async fn set_user_role(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
    Body(change): Body<RoleChange>,
) -> Result<Json<User>, ApiError> {
    Ok(Json(hub.set_user_role(&actor, &path.user, change.role).await?))
}
