//! REST operation: change password.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::State;
use axum::http::StatusCode;
use domain::user::PasswordChange;
use hub::{Hub, SignInClient};
use wire::Problem;

use crate::client_address::client_network;
use crate::input::{Body, Caller, CurrentSession};
use crate::problem::ApiError;

/// Changes the password of the caller, who sends the current one, and ends the other sessions of the caller unless
/// `endOtherSessions` is `false`. API tokens stay valid.
///
/// Attempts with a wrong password are counted with those of sign-ins: after some of them the next one has to wait. The
/// response is not stored for an `Idempotency-Key`, because not even a hash of the passwords is stored with it.
#[utoipa::path(
    put,
    path = "/api/v1/password",
    tag = "users",
    request_body = PasswordChange,
    responses(
        (status = 204, description = "The password is changed"),
        (status = 429, body = Problem, content_type = "application/problem+json", headers(("Retry-After")),
            description = "Too many attempts with a wrong password; repeat the request after `Retry-After`")
    )
)]
pub async fn change_password(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    CurrentSession(current): CurrentSession,
    Body(change): Body<PasswordChange>,
) -> Result<StatusCode, ApiError> {
    let address = actor.origin.address.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let client = SignInClient { network: client_network(address), device: None };
    hub.change_password(&actor, &change, &client, current.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
