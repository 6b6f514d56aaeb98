//! REST operation: create join token.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::join::NewJoinToken;
use wire::JoinTokenCreated;

use crate::input::{Body, Caller};
use crate::problem::ApiError;
use crate::site::Site;

/// Creates a token with which clusters join. Its text is only in this response. It is not replayed for an
/// `Idempotency-Key`, because that would require storing it.
#[utoipa::path(
    post,
    path = "/api/v1/join-tokens",
    tag = "clusters",
    request_body = NewJoinToken,
    responses((status = 201, body = JoinTokenCreated))
)]
pub async fn create_join_token(
    State(site): State<Site>,
    Caller(actor): Caller,
    Body(new): Body<NewJoinToken>,
) -> Result<(StatusCode, Json<JoinTokenCreated>), ApiError> {
    let access = site.agent_endpoint()?;
    let secret = site.hub().create_join_token(&actor, new).await?;
    let (token, hub) = (access.format_join_token(&secret), access.url.clone());
    let created = JoinTokenCreated { id: secret.id, token, hub, expires_at: secret.expires_at };
    Ok((StatusCode::CREATED, Json(created)))
}
