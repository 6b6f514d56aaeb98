//! REST operation: put identity provider.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::identity_provider::{IdentityProvider, IdentityProviderPut};
use hub::Hub;

use super::IdentityProviderPath;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Adds an identity provider, or changes it. An omitted secret of an existing one stays as it is. Its sessions end if it is disabled.
#[utoipa::path(
    put,
    path = "/api/v1/identity-providers/{provider}",
    tag = "users",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = IdentityProviderPut,
    responses((status = 200, body = IdentityProvider, headers(("ETag"))))
)]
pub async fn put_identity_provider(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<IdentityProviderPath>,
    IfMatch(expected): IfMatch,
    Body(put): Body<IdentityProviderPut>,
) -> Result<(HeaderMap, Json<IdentityProvider>), ApiError> {
    let provider = hub.save_identity_provider(&actor, &path.provider, put, expected).await?;
    Ok((etag_header(provider.revision), Json(provider)))
}
