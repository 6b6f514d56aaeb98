//! `POST /agent/v1/register`: the one address for those without a certificate.

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};
use hub::{JoinRequest, Joined};
use wire::agent::{Issued, JoinTokenText, Register, Registered};

use super::{Agents, Peer};
use crate::attempts::Who;
use crate::input::Body;
use crate::problem::Refusal;

/// Its address.
pub const PATH: &str = "/agent/v1/register";
/// When an agent that waits for a person asks again, in seconds.
const ASK_AGAIN: &str = "10";

/// Answers 202 while a person has to accept it, 200 with a certificate then.
pub async fn handler(
    State(agents): State<Agents>,
    extensions: Extensions,
    Body(asked): Body<Register>,
) -> Response {
    let now = agents.site.hub().clock().now();
    let peer = extensions.get::<ConnectInfo<Peer>>();
    let who = peer.map(|ConnectInfo(peer)| Who::Address(peer.address.ip()));
    let blocked = who.as_ref().and_then(|who| agents.site.attempts().blocked(who, now));
    if let Some(millis) = blocked {
        let detail = "Too many join tokens from this address were not valid.";
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "TooManyAttempts", detail);
        return ([(RETRY_AFTER, (millis / 1_000 + 1).to_string())], refusal).into_response();
    }
    if let Err(later) = agents.gate.register() {
        return later.into_response();
    }
    match register(&agents, asked).await {
        Ok(Registered::Joined(issued)) => {
            who.inspect(|who| agents.site.attempts().worked(who));
            Json(Registered::Joined(issued)).into_response()
        }
        Ok(pending) => (StatusCode::ACCEPTED, [(RETRY_AFTER, ASK_AGAIN)], Json(pending)).into_response(),
        Err(refusal) => {
            if refusal.status() == StatusCode::UNAUTHORIZED {
                who.inspect(|who| agents.site.attempts().failed(who, now));
            }
            refusal.into_response()
        }
    }
}

async fn register(agents: &Agents, asked: Register) -> Result<Registered, Refusal> {
    let token: JoinTokenText =
        asked.token.parse().map_err(|_| hub::Error::Unauthenticated("The join token is not valid."))?;
    let request = JoinRequest {
        token: token.id,
        secret: token.secret,
        name: asked.name,
        csr: asked.csr,
        facts: asked.facts,
    };
    Ok(match agents.site.hub().agent_register(&agents.authority, request).await? {
        Joined::Pending { fingerprint } => Registered::Pending { fingerprint },
        Joined::Certificate(made) => Registered::Joined(issued(agents, made)),
    })
}

/// A certificate as it is handed out: with the authority that signed it.
pub fn issued(agents: &Agents, made: hub::AgentCertificate) -> Issued {
    Issued {
        cluster: made.cluster,
        certificate: made.certificate,
        authority: agents.authority.certificate().to_owned(),
        not_after: made.not_after,
    }
}
