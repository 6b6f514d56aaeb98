//! Who may pass: whoever shows a certificate that speaks for a cluster; to `register`, anybody with a token.

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hub::AgentId;

use super::{Agents, Peer, register};
use crate::problem::Refusal;

const NO_CERTIFICATE: hub::Error =
    hub::Error::Unauthenticated("Show the certificate that this cluster's agent was given.");

/// Lets a request pass or not, and puts down which cluster asks.
pub async fn guard(State(agents): State<Agents>, mut request: Request, next: Next) -> Response {
    if request.uri().path() == register::PATH {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<ConnectInfo<Peer>>();
    let certificate = peer.and_then(|ConnectInfo(peer)| peer.certificate.clone());
    let admitted = match certificate {
        Some(certificate) => agents.site.hub().agent_admit(&certificate).await,
        None => Err(NO_CERTIFICATE),
    };
    match admitted {
        Ok(agent) => {
            request.extensions_mut().insert(agent);
            next.run(request).await
        }
        Err(error) => Refusal::from(error).into_response(),
    }
}

/// The agent that asks; put there by [`guard`].
#[derive(Debug)]
pub struct Of(pub AgentId);

impl<S: Send + Sync> FromRequestParts<S> for Of {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get::<AgentId>().cloned().map(Self).ok_or_else(|| NO_CERTIFICATE.into())
    }
}
