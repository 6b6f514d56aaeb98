//! Authentication of agents by client certificate. `register` is exempt: it checks a join token.

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hub::AuthenticatedAgent;

use super::{AgentApiState, register};
use crate::listener::Peer;
use crate::problem::ApiError;

const NO_CERTIFICATE: hub::Error =
    hub::Error::Unauthenticated("A client certificate issued by this hub is required.");

/// Middleware: authenticates the certificate and stores the agent's identity in the request's extensions, or rejects the
/// request.
pub async fn require_certificate(
    State(agents): State<AgentApiState>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.uri().path() == register::PATH {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<ConnectInfo<Peer>>();
    let certificate = peer.and_then(|ConnectInfo(peer)| peer.certificate.clone());
    let admitted = match certificate {
        Some(certificate) => agents.site.hub().authenticate_agent(&certificate).await,
        None => Err(NO_CERTIFICATE),
    };
    match admitted {
        Ok(agent) => {
            request.extensions_mut().insert(agent);
            next.run(request).await
        }
        Err(error) => ApiError::from(error).into_response(),
    }
}

/// Extractor: the authenticated agent, stored by [`guard`].
#[derive(Debug)]
pub struct AgentConnection(pub AuthenticatedAgent);

impl<S: Send + Sync> FromRequestParts<S> for AgentConnection {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<AuthenticatedAgent>().cloned().map(Self).ok_or_else(|| NO_CERTIFICATE.into())
    }
}
