//! REST operation: get the identity of a user.

use axum::Json;
use axum::extract::State;
use domain::identity_provider::UserIdentity;
use hub::Hub;

use super::UserPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Why a user who signs in with an identity provider has the role: the claims that were received last, and the roles of groups that applied.
#[utoipa::path(
    get,
    path = "/api/v1/users/{user}/identity",
    tag = "users",
    responses((status = 200, body = UserIdentity))
)]
pub async fn get_user_identity(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
) -> Result<Json<UserIdentity>, ApiError> {
    Ok(Json(hub.get_user_identity(&actor, &path.user).await?))
}
