//! The table of contents: every address, and the layers a request passes.

use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, Method, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, get, on};
use axum::{Router, extract::Request};
use tower::Layer as _;
use tower::util::MapRequestLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};
use tower_http::trace::TraceLayer;
use utoipa::openapi::OpenApi;

use crate::site::Site;
use crate::{access, api, assets, colon, console, headers, health, idempotency, metrics, problem, session};

/// The largest body taken anywhere, in bytes: a source of 10 MiB and its JSON around it (P19).
pub const LARGEST_BODY: usize = 12 * 1024 * 1024;
/// The largest body where nothing large is expected, in bytes.
pub const SMALL_BODY: usize = 64 * 1024;
/// An answer must have begun within this time; a little more than the longest wait a client may ask for.
const ANSWER_WITHIN: Duration = Duration::from_secs(70);
/// A body that stops coming for so long is given up.
const BODY_SILENCE: Duration = Duration::from_secs(20);

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The whole site.
pub struct Built {
    /// Answers requests.
    pub router: Router,
    /// Every address it has, with its methods, as written outside.
    pub routes: Vec<(Method, String)>,
    /// The API's own description.
    pub openapi: OpenApi,
}

/// Puts the whole site together.
pub fn build(site: &Site) -> Built {
    let (api, openapi) = api::build(site);
    let mut routes: Vec<(Method, String)> = api::routes(&openapi);
    let mut router = Router::new().merge(api);
    let fixed = [
        ("/livez", get(health::live)),
        ("/healthz", get(health::live)),
        ("/readyz", get(health::ready)),
        ("/version", get(health::version)),
        ("/metrics", get(metrics::text)),
    ];
    for (path, methods) in fixed {
        routes.push((Method::GET, path.to_owned()));
        router = router.route(path, methods);
    }
    for path in site.shelf().addresses() {
        routes.push((Method::GET, path.to_owned()));
        router = router.route(path, get(assets::file));
    }
    for (path, method) in console::calls() {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::POST);
        routes.push((method, path.to_owned()));
        router = router.route(path, on(filter, console::call));
    }
    let pages = console::pages();
    let page = console::page(site, &pages);
    for listing in &pages {
        routes.push((Method::GET, listing.path().to_owned()));
        router = router.route(listing.path(), get(page.clone()));
    }
    Built { router: layered(site, router), routes, openapi }
}

/// The layers, innermost first: the last one added sees a request first. The verb is split off before the router looks
/// at the address.
fn layered(site: &Site, router: Router<Site>) -> Router {
    let guarded = router
        .fallback(console::not_found)
        .layer(DefaultBodyLimit::max(SMALL_BODY))
        .layer(from_fn_with_state(site.clone(), idempotency::once_per_key))
        .layer(from_fn_with_state(site.clone(), access::guard))
        .layer(session::layer(site));
    let bounded = guarded
        .layer(RequestBodyLimitLayer::new(LARGEST_BODY))
        .layer(RequestBodyTimeoutLayer::new(BODY_SILENCE))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, ANSWER_WITHIN))
        .layer(CatchPanicLayer::new());
    let dressed = bounded
        .layer(from_fn(problem::every_refusal_is_a_problem))
        .layer(from_fn_with_state(site.clone(), metrics::count))
        .layer(CompressionLayer::new())
        .layer(from_fn(headers::protect))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID.clone()))
        .layer(TraceLayer::new_for_http().make_span_with(span))
        .layer(SetRequestIdLayer::new(REQUEST_ID.clone(), MakeRequestUuid))
        .with_state(site.clone());
    let split = MapRequestLayer::new(|request: Request| colon::split_verb(request)).layer(dressed);
    Router::new().fallback_service(split)
}

/// One request in the log: its path, never its query, where a set-up token may stand.
fn span<B>(request: &axum::http::Request<B>) -> tracing::Span {
    let id = request.headers().get(&REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    tracing::debug_span!("request", method = %request.method(), path = request.uri().path(), id)
}
