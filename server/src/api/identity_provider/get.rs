//! REST operation: get identity provider.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::identity_provider::IdentityProvider;
use hub::Hub;

use super::IdentityProviderPath;
use crate::etag::etag_header;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// One identity provider, without its secret.
#[utoipa::path(
    get,
    path = "/api/v1/identity-providers/{provider}",
    tag = "users",
    responses((status = 200, body = IdentityProvider, headers(("ETag"))))
)]
pub async fn get_identity_provider(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<IdentityProviderPath>,
) -> Result<(HeaderMap, Json<IdentityProvider>), ApiError> {
    let provider = hub.get_identity_provider(&actor, &path.provider).await?;
    Ok((etag_header(provider.revision), Json(provider)))
}
