//! REST operation: list identity providers.

use axum::Json;
use axum::extract::State;
use domain::identity_provider::IdentityProvider;
use hub::Hub;

use crate::input::Caller;
use crate::problem::ApiError;

/// The identity providers that users can sign in with, by name, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/identity-providers",
    tag = "users",
    responses((status = 200, body = Vec<IdentityProvider>))
)]
pub async fn list_identity_providers(
    State(hub): State<Hub>,
    Caller(actor): Caller,
) -> Result<Json<Vec<IdentityProvider>>, ApiError> {
    Ok(Json(hub.list_identity_providers(&actor).await?))
}
