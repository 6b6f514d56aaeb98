//! Memory for what clients that are not signed in request: for a body it is reserved before the body is read, for a page before the page is
//! rendered, and both are released with the response.
//!
//! Such a body has a limit of its own, but anyone can open connections and send some. A usual one is small and needs no reservation, so that
//! who signs in, or joins a cluster, never waits for what others send. The body of a webhook is never in memory as a whole.

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hub::Actor;

use crate::access::{PUBLIC_PAGES, RouteKind, refuse_busy, route_kind};
use crate::body_memory::body_bytes;
use crate::client_address::{client_network, read_client_address};
use crate::identity_provider;
use crate::listener::Peer;
use crate::problem::ApiError;
use crate::router::DEFAULT_BODY_BYTES;
use crate::site::Site;
use source::client_shares::{PUBLIC_BODIES_OF_NETWORKS, RENDERED_PUBLIC_PAGES_OF_NETWORKS};
use source::retained_memory::run_with_memory;

/// A body of at most this many bytes needs no reservation.
const SMALL_BYTES: u64 = 4 << 10;

/// What one of the public pages needs while it is rendered.
const PAGE_BYTES: u64 = 512 << 10;

/// Middleware: reserves memory for a page that anyone can request, until it is rendered.
pub async fn reserve_public_page(State(site): State<Site>, request: Request, next: Next) -> Response {
    if !PUBLIC_PAGES.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let address = read_client_address(site.trusted_proxies(), request.headers(), request.extensions());
    match RENDERED_PUBLIC_PAGES_OF_NETWORKS.reserve(client_network(address).to_string(), PAGE_BYTES).await {
        Ok(memory) => run_with_memory(memory, next.run(request)).await,
        Err(exhausted) => refuse_busy(&site, request.uri().path(), request.headers(), exhausted),
    }
}

/// Middleware: reserves memory for the body of a request to a public route of the console.
pub async fn reserve_public_body(State(site): State<Site>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_public =
        route_kind(&site, path) == RouteKind::Public || path.starts_with(identity_provider::PATH_PREFIX);
    let is_signed_in = request.extensions().get::<Actor>().is_some();
    let bytes = body_bytes(&request, DEFAULT_BODY_BYTES as u64);
    if !is_public || is_signed_in || bytes <= SMALL_BYTES {
        return next.run(request).await;
    }
    let address = read_client_address(site.trusted_proxies(), request.headers(), request.extensions());
    match PUBLIC_BODIES_OF_NETWORKS.reserve(client_network(address).to_string(), bytes).await {
        Ok(memory) => run_with_memory(memory, next.run(request)).await,
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
        Ok(memory) => run_with_memory(memory, next.run(request)).await,
        Err(exhausted) => ApiError::from(hub::Error::from(exhausted)).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::StatusCode;
    use hub::{Clock, Hub, HubConfig};
    use source::memory_budget::RENDERED_PUBLIC_PAGES;
    use tower::ServiceExt as _;

    use super::*;
    use crate::router::build_router;
    use crate::site::SiteOptions;

    #[tokio::test]
    async fn p20_pages_without_sign_in_are_rendered_a_few_at_once_and_other_networks_have_places() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let router = build_router(&Site::new(SiteOptions::bare(hub))).router;
        // The wait for memory passes at once.
        tokio::time::pause();
        // A request without a connection has this address.
        let in_use = RENDERED_PUBLIC_PAGES_OF_NETWORKS.reserve("0.0.0.0".to_owned(), u64::MAX).await.unwrap();
        let read = async |path: &str| {
            let request = Request::get(path).header("accept", "text/html").body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap()
        };
        for page in PUBLIC_PAGES {
            let busy = read(page).await;
            assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE, "{page}");
            assert!(busy.headers().contains_key("retry-after"), "{page}");
        }
        assert_eq!(read("/livez").await.status(), StatusCode::OK);
        let others =
            RENDERED_PUBLIC_PAGES_OF_NETWORKS.reserve("192.0.2.1".to_owned(), u64::MAX).await.unwrap();
        assert_eq!(RENDERED_PUBLIC_PAGES.free_bytes(), 0);
        drop((in_use, others));
        assert_eq!(RENDERED_PUBLIC_PAGES.free_bytes(), RENDERED_PUBLIC_PAGES.bytes());
    }
}
