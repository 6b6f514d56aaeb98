//! `GET /join-tokens`

use axum::Json;
use axum::extract::State;
use domain::join::JoinToken;
use hub::Hub;
use wire::Problem;

use crate::problem::Refusal;

/// The newest join tokens, ended ones too, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/join-tokens",
    tag = "clusters",
    operation_id = "joinTokenList",
    responses(
        (status = 200, body = Vec<JoinToken>),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>) -> Result<Json<Vec<JoinToken>>, Refusal> {
    Ok(Json(hub.join_token_list().await?))
}
