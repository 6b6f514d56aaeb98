//! Every route, and the middleware layers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, Method, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, get, on};
use axum::{Router, extract::Request};
use tower::Layer as _;
use tower::util::MapRequestLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::classify::ServerErrorsFailureClass;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;
use utoipa::openapi::OpenApi;

use crate::access::RouteActions;
use crate::body_rate::require_body_rate;
use crate::query_parameters::QueryParameters;
use crate::request_deadline::{record_arrival, share_memory_wait};
use crate::site::Site;
use crate::{
    access, api, assets, body_memory, compression, console, custom_verb, encoded_text, form_error, headers,
    health, idempotency, identity_provider, install, metrics, problem, public_body_memory, query_parameters,
    request_places, response_memory, session, value_memory,
};

/// The largest accepted body, in bytes: a source of 10 MiB and the JSON around it (P19).
pub const MAX_BODY_BYTES: usize = 12 * 1024 * 1024;
/// The default body limit, in bytes.
pub const DEFAULT_BODY_BYTES: usize = 64 * 1024;
/// A response must begin within this time: the longest wait a client may request (60 s) and a margin.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(70);

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The complete web application.
pub struct ServerRouter {
    /// The router.
    pub router: Router,
    /// Every route: method and public path.
    pub routes: Vec<(Method, String)>,
    /// The API's OpenAPI document.
    pub openapi: OpenApi,
    /// The action of every route that needs one.
    pub actions: Arc<RouteActions>,
}

/// Builds the web application.
pub fn build_router(site: &Site) -> ServerRouter {
    let (api, openapi, verbs) = api::build_api(site);
    let mut routes: Vec<(Method, String)> = api::list_routes(&openapi);
    let mut router = Router::new().merge(api);
    let fixed = [
        ("/livez", get(health::live)),
        ("/healthz", get(health::live)),
        ("/readyz", get(health::ready)),
        ("/version", get(health::version)),
        ("/metrics", get(metrics::render_metrics)),
        (install::PATH, get(install::serve_manifests)),
    ];
    for (path, methods) in fixed {
        routes.push((Method::GET, path.to_owned()));
        router = router.route(path, methods);
    }
    router = identity_provider::add_routes(router);
    routes.extend(identity_provider::ROUTES.map(|(method, path)| (method, path.to_owned())));
    for path in site.static_assets().paths() {
        routes.push((Method::GET, path.to_owned()));
        router = router.route(path, get(assets::serve_file));
    }
    for (path, method) in console::list_server_fns() {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::POST);
        routes.push((method, path.to_owned()));
        // Its form is bounded when it is read; the same bound counts where it is parsed.
        let handler = on(filter, console::handle_server_fn).layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
        router = router.route(path, handler);
    }
    let pages = console::list_pages();
    let page = console::page_handler(site, &pages);
    for listing in &pages {
        routes.push((Method::GET, listing.path().to_owned()));
        router = router.route(listing.path(), get(page.clone()));
    }
    let actions = Arc::new(RouteActions::new(site, &routes, &openapi));
    let operations = ApiOperations {
        verbs,
        actions: actions.clone(),
        query_parameters: Arc::new(QueryParameters::new(&openapi)),
    };
    ServerRouter { router: apply_layers(site, router, operations), routes, openapi, actions }
}

/// What layers know of the operations of the API.
struct ApiOperations {
    /// The custom verbs.
    verbs: BTreeSet<String>,
    /// The action of every route that needs one.
    actions: Arc<RouteActions>,
    /// The query parameters of every operation.
    query_parameters: Arc<QueryParameters>,
}

/// Adds the layers, innermost first: the last one added receives a request first. The custom verb is split off before
/// routing.
fn apply_layers(site: &Site, router: Router<Site>, operations: ApiOperations) -> Router {
    let ApiOperations { verbs, actions, query_parameters } = operations;
    let guarded = router
        .fallback(console::not_found)
        .layer(DefaultBodyLimit::max(DEFAULT_BODY_BYTES))
        .layer(from_fn_with_state(site.clone(), idempotency::handle_idempotency_key))
        .layer(from_fn(value_memory::retain_value_memory))
        .layer(from_fn_with_state(site.clone(), response_memory::reserve_response))
        .layer(from_fn_with_state(site.clone(), request_places::run_in_turn))
        .layer(from_fn_with_state(site.clone(), body_memory::reserve_request_body))
        .layer(from_fn_with_state(site.clone(), public_body_memory::reserve_public_body))
        .layer(from_fn_with_state(site.clone(), public_body_memory::reserve_public_page))
        .layer(from_fn_with_state(query_parameters, query_parameters::reject_unknown))
        .layer(from_fn_with_state((site.clone(), actions), access::authorize))
        .layer(from_fn_with_state(site.clone(), access::authenticate))
        .layer(session::session_layer(site))
        .layer(from_fn_with_state(site.clone(), form_error::remove_foreign_error))
        .layer(from_fn_with_state(site.clone(), access::answer_unstored_session))
        .layer(from_fn(encoded_text::reject_null_characters))
        .layer(from_fn(body_memory::refuse_body_of_read));
    let bounded = guarded
        .layer(from_fn(share_memory_wait))
        .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES))
        .layer(MapRequestLayer::new(require_body_rate))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, RESPONSE_TIMEOUT))
        .layer(MapRequestLayer::new(record_arrival))
        .layer(CatchPanicLayer::new());
    let dressed = bounded
        .layer(from_fn(problem::convert_errors_to_problems))
        .layer(from_fn_with_state(site.clone(), metrics::record_request))
        .layer(from_fn(compression::reserve_encoder))
        .layer(compression::restrict_compression(CompressionLayer::new()))
        .layer(from_fn(compression::encode_beside_others))
        .layer(from_fn_with_state(site.clone(), headers::add_security_headers))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID.clone()))
        .layer(TraceLayer::new_for_http().make_span_with(request_span).on_failure(log_failure))
        .layer(SetRequestIdLayer::new(REQUEST_ID.clone(), MakeRequestUuid))
        .with_state(site.clone());
    let verbs = Arc::new(verbs);
    let split = move |request: Request| custom_verb::split_verb(&verbs, request);
    let split = MapRequestLayer::new(split).layer(dressed);
    Router::new().fallback_service(split)
}

/// The log span of a request: its path without the query, which may contain a set-up token.
fn request_span<B>(request: &axum::http::Request<B>) -> tracing::Span {
    let id = request.headers().get(&REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    tracing::debug_span!("request", method = %request.method(), path = request.uri().path(), id)
}

/// Logs a failed response. A 503 is not an error of this request: the store logs an outage once, with its cause.
fn log_failure(failure: ServerErrorsFailureClass, latency: Duration, _span: &tracing::Span) {
    if matches!(failure, ServerErrorsFailureClass::StatusCode(StatusCode::SERVICE_UNAVAILABLE)) {
        tracing::debug!(%failure, ?latency, "a request was answered with 503");
    } else {
        tracing::error!(%failure, ?latency, "a request failed");
    }
}
