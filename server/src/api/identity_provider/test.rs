//! REST operation: test identity provider.

use axum::Json;
use axum::extract::State;
use domain::identity_provider::ProviderTest;
use hub::Hub;

use super::IdentityProviderPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Tests the connection to an identity provider: discovery document, keys, scopes, and whether it accepts the client. Nothing is stored, and one that is disabled
/// is tested too.
#[utoipa::path(
    post,
    path = "/api/v1/identity-providers/{provider}/-/test",
    tag = "users",
    responses((status = 200, body = ProviderTest))
)]
pub async fn test_identity_provider(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<IdentityProviderPath>,
) -> Result<Json<ProviderTest>, ApiError> {
    Ok(Json(hub.test_identity_provider(&actor, &path.provider).await?))
}
