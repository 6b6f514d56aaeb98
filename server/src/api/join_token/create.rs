//! `POST /join-tokens`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::join::NewJoinToken;
use wire::{JoinTokenCreated, Problem};

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
    let (token, hub) = (access.token_text(&made), access.url.clone());
    let created = JoinTokenCreated { id: made.id, token, hub, expires_at: made.expires_at };
    Ok((StatusCode::CREATED, Json(created)))
}
