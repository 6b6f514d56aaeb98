//! `POST /agent/v1/register_agent`: the only route without a client certificate.

use std::time::Duration;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};
use hub::{JoinRequest, RegistrationResult};
use serde::Deserialize;
use wire::agent::{IssuedCertificate, JoinTokenParts, RegisterRequest, RegisterResponse};

use super::AgentApiState;
use crate::client_address::client_network;
use crate::input::{AgentMessage, Query};
use crate::listener::Peer;
use crate::problem::ApiError;

/// Path of the route.
pub const PATH: &str = "/agent/v1/register";
/// `Retry-After` of a pending registration, in seconds.
const RETRY_AFTER_SECONDS: &str = "10";
/// The longest wait for a decision, in seconds.
const MAX_WAIT_SECONDS: u64 = 55;

/// Query parameters. Others are ignored: the agent may be of a later version (P23).
#[derive(Debug, Deserialize)]
pub struct RegisterQuery {
    /// How long to wait for a decision on a pending registration, in seconds; at most 55.
    #[serde(default)]
    wait: u64,
}

/// Returns 202 while the registration is pending and 200 with a certificate once it is accepted.
pub async fn handler(
    State(agents): State<AgentApiState>,
    Query(query): Query<RegisterQuery>,
    extensions: Extensions,
    AgentMessage(body): AgentMessage<RegisterRequest>,
) -> Response {
    let peer = extensions.get::<ConnectInfo<Peer>>();
    let network = peer.map(|ConnectInfo(peer)| client_network(peer.address.ip()));
    if let Some(Err(later)) = network.map(|network| agents.rate_limits.check_invalid_tokens(network)) {
        return later.into_response();
    }
    if let Err(later) = agents.rate_limits.check_registration() {
        return later.into_response();
    }
    let wait = Duration::from_secs(query.wait.min(MAX_WAIT_SECONDS));
    match register_agent(&agents, body, wait).await {
        Ok(RegisterResponse::Joined(issued)) => Json(RegisterResponse::Joined(issued)).into_response(),
        Ok(pending) => {
            (StatusCode::ACCEPTED, [(RETRY_AFTER, RETRY_AFTER_SECONDS)], Json(pending)).into_response()
        }
        Err(refusal) => {
            if refusal.status() == StatusCode::UNAUTHORIZED {
                network.inspect(|network| agents.rate_limits.record_invalid_token(*network));
            }
            refusal.into_response()
        }
    }
}

async fn register_agent(
    agents: &AgentApiState,
    body: RegisterRequest,
    wait: Duration,
) -> Result<RegisterResponse, ApiError> {
    let token: JoinTokenParts =
        body.token.parse().map_err(|_| hub::Error::Unauthenticated("The join token is not valid."))?;
    let request = JoinRequest {
        token: token.id,
        secret: token.secret,
        name: body.name,
        csr: body.csr,
        facts: body.facts,
    };
    let hub = agents.site.hub();
    let result = tokio::select! {
        result = hub.register_agent_and_wait(&agents.authority, request.clone(), wait) => result?,
        () = agents.site.stop().cancelled() => hub.register_agent(&agents.authority, request).await?,
    };
    Ok(match result {
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
