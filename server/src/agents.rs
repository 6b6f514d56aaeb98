//! The agent API (`/agent/v1`): a listener of its own that authenticates agents by their client certificate.
//!
//! The certificate is optional in the handshake, because a joining agent has none yet; every route except
//! `POST register` rejects requests without one. The cluster is always the one that the certificate names.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post, put};
use hub::{Authority, JoinTokenSecret};
use tower::util::MapRequestLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;
use wire::agent::JoinTokenParts;

use crate::body_memory::{refuse_body_of_read, reserve_agent_message};
use crate::body_rate::require_body_rate;
use crate::compression;
use crate::problem::ApiError;
use crate::public_body_memory::reserve_registration;
use crate::request_deadline::share_memory_wait;
use crate::response_memory::reserve_agent_response;
use crate::router::DEFAULT_BODY_BYTES;
use crate::site::Site;

mod authenticate;
mod bundle;
mod cluster_plan;
mod desired_state;
mod heartbeat;
mod helm_release;
mod listener;
mod planned_bundle;
pub(crate) mod rate_limit;
mod register;
mod renew;
mod report;
mod schema;
mod session;
mod stream;

pub use listener::{AgentListener, AgentTls, ListenError, bind};

use rate_limit::RateLimits;

/// The largest batch of reports, in bytes.
const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;
/// The largest record of a Helm release, in bytes: 1 MiB of values, and the chart.
const MAX_HELM_RELEASE_BYTES: usize = 2 * 1024 * 1024;
/// The largest result of a dry run, in bytes.
const MAX_CLUSTER_PLAN_BYTES: usize = 4 * 1024 * 1024;
/// A response must begin within this time: the longest long poll (55 s) and a margin.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(70);

/// The endpoint that agents connect to: its URL and the authority that signs agent certificates.
#[derive(Clone)]
pub struct AgentEndpoint {
    /// Signs the agents' certificates.
    pub authority: Arc<Authority>,
    /// The URL agents connect to, `https://…`.
    pub url: String,
}

impl AgentEndpoint {
    /// The text of a join token: its id and secret and the fingerprint of the authority, by which the agent verifies the
    /// hub.
    pub fn format_join_token(&self, token: &JoinTokenSecret) -> String {
        let (id, secret) = (token.id, token.secret.clone());
        JoinTokenParts { id, secret, authority: self.authority.fingerprint() }.to_string()
    }
}

impl app::AgentListenerInfo for AgentEndpoint {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn format_join_token(&self, token: &JoinTokenSecret) -> String {
        self.format_join_token(token)
    }

    fn parse_join_token(&self, text: &str) -> Option<domain::JoinTokenId> {
        text.parse::<JoinTokenParts>().ok().map(|parts| parts.id)
    }
}

/// State of the agent API's handlers.
#[derive(Clone)]
pub struct AgentApiState {
    site: Site,
    authority: Arc<Authority>,
    rate_limits: Arc<RateLimits>,
}

/// The agent API's router and routes.
pub struct AgentRouter {
    /// The router.
    pub router: Router,
    /// Every route: method and path.
    pub routes: Vec<(Method, &'static str)>,
}

/// A route with a body of at most this size, for which memory is reserved.
fn with_body(route: MethodRouter<AgentApiState>, max_bytes: usize) -> MethodRouter<AgentApiState> {
    let limited: MethodRouter<AgentApiState> = route.layer(DefaultBodyLimit::max(max_bytes));
    limited
        .layer(from_fn(move |request: Request, next: Next| reserve_agent_message(max_bytes, request, next)))
}

/// Builds the agent API.
pub fn build_router(site: &Site, access: &AgentEndpoint) -> AgentRouter {
    let agents = AgentApiState {
        site: site.clone(),
        authority: access.authority.clone(),
        rate_limits: Arc::new(RateLimits::new()),
    };
    let table: [(Method, &'static str, MethodRouter<AgentApiState>); 12] = [
        (Method::POST, register::PATH, post(register::handler).layer(from_fn(reserve_registration))),
        (Method::POST, "/agent/v1/renew", with_body(post(renew::handler), DEFAULT_BODY_BYTES)),
        (Method::POST, "/agent/v1/sessions", with_body(post(session::handler), DEFAULT_BODY_BYTES)),
        (Method::GET, "/agent/v1/desired-state", get(desired_state::handler)),
        (Method::GET, "/agent/v1/stream", get(stream::handler)),
        (Method::GET, "/agent/v1/releases/{release}/bundle/{digest}", get(bundle::handler)),
        (Method::GET, "/agent/v1/plans/{plan}/bundle/{digest}", get(planned_bundle::handler)),
        (
            Method::POST,
            "/agent/v1/plans/{plan}/cluster-plan",
            with_body(post(cluster_plan::handler), MAX_CLUSTER_PLAN_BYTES),
        ),
        (
            Method::POST,
            "/agent/v1/helm-release",
            with_body(post(helm_release::handler), MAX_HELM_RELEASE_BYTES),
        ),
        (Method::POST, "/agent/v1/reports", with_body(post(report::handler), MAX_REPORT_BYTES)),
        (
            Method::PUT,
            "/agent/v1/schema/{digest}",
            with_body(put(schema::handler), domain::schema::MAX_BYTES),
        ),
        (Method::POST, "/agent/v1/heartbeat", with_body(post(heartbeat::handler), DEFAULT_BODY_BYTES)),
    ];
    let mut routes = Vec::new();
    let mut router = Router::new();
    for (method, path, handler) in table {
        routes.push((method, path));
        router = router.route(path, handler);
    }
    let compression_layer = CompressionLayer::new().no_gzip().br(true).quality(CompressionLevel::Fastest);
    let router = router
        .fallback(async || ApiError::from_status(StatusCode::NOT_FOUND))
        .method_not_allowed_fallback(async || ApiError::from_status(StatusCode::METHOD_NOT_ALLOWED))
        .layer(DefaultBodyLimit::max(DEFAULT_BODY_BYTES))
        .layer(from_fn(reserve_agent_response))
        .layer(from_fn_with_state(agents.clone(), authenticate::require_certificate))
        .layer(from_fn(refuse_body_of_read))
        .layer(from_fn(share_memory_wait))
        .layer(RequestBodyLimitLayer::new(MAX_REPORT_BYTES))
        .layer(MapRequestLayer::new(require_body_rate))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, RESPONSE_TIMEOUT))
        .layer(CatchPanicLayer::new())
        .layer(from_fn(crate::problem::convert_errors_to_problems))
        .layer(from_fn_with_state(site.clone(), crate::metrics::record_request))
        .layer(from_fn(compression::reserve_agent_encoder))
        .layer(compression::restrict_compression(compression_layer))
        .layer(from_fn(compression::encode_beside_others))
        .with_state(agents);
    AgentRouter { router, routes }
}
