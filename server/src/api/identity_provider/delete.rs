//! REST operation: delete identity provider.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::IdentityProviderPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Removes an identity provider with its secret, and ends its sessions. Its users stay, and can't sign in.
#[utoipa::path(
    delete,
    path = "/api/v1/identity-providers/{provider}",
    tag = "users",
    responses((status = 204, description = "The provider is removed"))
)]
pub async fn delete_identity_provider(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<IdentityProviderPath>,
) -> Result<StatusCode, ApiError> {
    hub.remove_identity_provider(&actor, &path.provider).await?;
    Ok(StatusCode::NO_CONTENT)
}
