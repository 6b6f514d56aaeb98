//! `POST /agent/v1/register_agent`: the only route without a client certificate.

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};
use hub::{JoinRequest, RegistrationResult};
use wire::agent::{IssuedCertificate, JoinTokenParts, RegisterRequest, RegisterResponse};

use super::{AgentApiState, Peer};
use crate::attempts::AttemptKey;
use crate::input::AgentMessage;
use crate::problem::ApiError;

/// Path of the route.
pub const PATH: &str = "/agent/v1/register";
/// `Retry-After` of a pending registration, in seconds.
const RETRY_AFTER_SECONDS: &str = "10";

/// Returns 202 while the registration is pending and 200 with a certificate once it is accepted.
pub async fn handler(
    State(agents): State<AgentApiState>,
    extensions: Extensions,
    AgentMessage(body): AgentMessage<RegisterRequest>,
) -> Response {
    let now = agents.site.hub().clock().now();
    let peer = extensions.get::<ConnectInfo<Peer>>();
    let who = peer.map(|ConnectInfo(peer)| AttemptKey::Address(peer.address.ip()));
    let blocked = who.as_ref().and_then(|who| agents.site.failed_attempts().blocked_for(who, now));
    if let Some(millis) = blocked {
        let detail = "Too many attempts with an invalid join token from this address. Retry after the time in the Retry-After header.";
        let refusal = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyAttempts", detail);
        return ([(RETRY_AFTER, (millis / 1_000 + 1).to_string())], refusal).into_response();
    }
    if let Err(later) = agents.rate_limits.check_registration() {
        return later.into_response();
    }
    match register_agent(&agents, body).await {
        Ok(RegisterResponse::Joined(issued)) => {
            who.inspect(|who| agents.site.failed_attempts().reset(who));
            Json(RegisterResponse::Joined(issued)).into_response()
        }
        Ok(pending) => {
            (StatusCode::ACCEPTED, [(RETRY_AFTER, RETRY_AFTER_SECONDS)], Json(pending)).into_response()
        }
        Err(refusal) => {
            if refusal.status() == StatusCode::UNAUTHORIZED {
                who.inspect(|who| agents.site.failed_attempts().record_failure(who, now));
            }
            refusal.into_response()
        }
    }
}

async fn register_agent(agents: &AgentApiState, body: RegisterRequest) -> Result<RegisterResponse, ApiError> {
    let token: JoinTokenParts =
        body.token.parse().map_err(|_| hub::Error::Unauthenticated("The join token is not valid."))?;
    let request = JoinRequest {
        token: token.id,
        secret: token.secret,
        name: body.name,
        csr: body.csr,
        facts: body.facts,
    };
    Ok(match agents.site.hub().register_agent(&agents.authority, request).await? {
        RegistrationResult::Pending { fingerprint } => RegisterResponse::Pending { fingerprint },
        RegistrationResult::Certificate(certificate) => {
            RegisterResponse::Joined(issued_certificate(agents, certificate))
        }
    })
}

/// The certificate with that of the authority that signed it.
pub fn issued_certificate(agents: &AgentApiState, certificate: hub::AgentCertificate) -> IssuedCertificate {
    IssuedCertificate {
        cluster: certificate.cluster,
        certificate: certificate.certificate,
        authority: agents.authority.certificate().to_owned(),
        not_after: certificate.not_after,
    }
}
