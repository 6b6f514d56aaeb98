//! Memory for the bodies of clients that are not signed in: reserved before a body is read, and released with the response.
//!
//! Such a body has a limit of its own, but anyone can open connections and send some. A usual one is small and needs no reservation, so that
//! who signs in, or joins a cluster, never waits for what others send. The body of a webhook is never in memory as a whole.

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hub::Actor;

use crate::access::{RouteKind, refuse_busy, route_kind};
use crate::body_memory::body_bytes;
use crate::client_address::{client_network, read_client_address};
use crate::listener::Peer;
use crate::problem::ApiError;
use crate::router::DEFAULT_BODY_BYTES;
use crate::site::Site;
use source::client_shares::PUBLIC_BODIES_OF_NETWORKS;

/// A body of at most this many bytes needs no reservation.
const SMALL_BYTES: u64 = 4 << 10;

/// Middleware: reserves memory for the body of a request to a public route of the console.
pub async fn reserve_public_body(State(site): State<Site>, request: Request, next: Next) -> Response {
    let is_public = route_kind(&site, request.uri().path()) == RouteKind::Public;
    let is_signed_in = request.extensions().get::<Actor>().is_some();
    let bytes = body_bytes(&request, DEFAULT_BODY_BYTES as u64);
    if !is_public || is_signed_in || bytes <= SMALL_BYTES {
        return next.run(request).await;
    }
    let address = read_client_address(site.trusted_proxies(), request.headers(), request.extensions());
    match PUBLIC_BODIES_OF_NETWORKS.reserve(client_network(address).to_string(), bytes).await {
        Ok(_reserved) => next.run(request).await,
        Err(exhausted) => refuse_busy(&site, request.uri().path(), request.headers(), exhausted),
    }
}

/// Middleware: the same for the registration of an agent, which has no certificate yet.
pub async fn reserve_registration(request: Request, next: Next) -> Response {
    let bytes = body_bytes(&request, DEFAULT_BODY_BYTES as u64);
    if bytes <= SMALL_BYTES {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<ConnectInfo<Peer>>();
    let network = peer.map(|ConnectInfo(peer)| client_network(peer.address.ip()).to_string());
    match PUBLIC_BODIES_OF_NETWORKS.reserve(network.unwrap_or_default(), bytes).await {
        Ok(_reserved) => next.run(request).await,
        Err(exhausted) => ApiError::from(hub::Error::from(exhausted)).into_response(),
    }
}
