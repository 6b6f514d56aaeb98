//! `POST /join-tokens`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::join::NewJoinToken;
use hub::JoinSecret;
use wire::agent::JoinTokenText;
use wire::{JoinTokenCreated, Problem};

use crate::agents::AgentAccess;
use crate::input::{Body, Caller};
use crate::problem::Refusal;
use crate::site::Site;

/// Makes a token with which clusters join. Its text is in this answer and nowhere else; it is not replayed for an
/// `Idempotency-Key`, because then it would have to be kept.
#[utoipa::path(
    post,
    path = "/api/v1/join-tokens",
    tag = "clusters",
    operation_id = "joinTokenCreate",
    request_body = NewJoinToken,
    responses(
        (status = 201, body = JoinTokenCreated),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(site): State<Site>,
    Caller(actor): Caller,
    Body(new): Body<NewJoinToken>,
) -> Result<(StatusCode, Json<JoinTokenCreated>), Refusal> {
    let access = site.agents()?;
    let made = site.hub().join_token_create(&actor, new).await?;
    let (token, hub) = (text(access, &made), access.url.clone());
    let created = JoinTokenCreated { id: made.id, token, hub, expires_at: made.expires_at };
    Ok((StatusCode::CREATED, Json(created)))
}

/// The token as an agent is given it: with what it knows its hub by.
pub fn text(access: &AgentAccess, made: &JoinSecret) -> String {
    let (id, secret) = (made.id, made.secret.clone());
    JoinTokenText { id, secret, authority: access.authority.fingerprint() }.to_string()
}
