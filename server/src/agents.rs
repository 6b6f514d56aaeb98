//! The agents' side of the server: a listener of its own that knows who dials by the certificate (`/agent/v1`).
//!
//! A certificate is optional in the handshake, because an agent that joins has none yet; every address but
//! `POST register` is refused without one. The cluster is only ever the one that the certificate names.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post, put};
use hub::{Authority, JoinSecret};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};
use wire::agent::JoinTokenText;

use crate::problem::Refusal;
use crate::router::SMALL_BODY;
use crate::site::Site;

mod admit;
mod begin;
mod bundle;
mod effect;
mod gate;
mod heartbeat;
mod listener;
mod peer;
mod planned_bundle;
mod register;
mod renew;
mod report;
mod schema;
mod stream;
mod wants;

pub use listener::{AgentListener, ListenError};
pub use peer::Peer;

use gate::Gate;

/// The largest batch of reports, in bytes.
const LARGEST_REPORT: usize = 16 * 1024 * 1024;
/// The largest answer to a plan, in bytes.
const LARGEST_EFFECT: usize = 4 * 1024 * 1024;
/// An answer must have begun within this time: the longest wait an agent may ask for, and a little more.
const ANSWER_WITHIN: Duration = Duration::from_secs(70);
/// A body that stops coming for so long is given up.
const BODY_SILENCE: Duration = Duration::from_secs(20);

/// How agents reach the server, and how it knows them.
#[derive(Clone)]
pub struct AgentAccess {
    /// Signs their certificates.
    pub authority: Arc<Authority>,
    /// The address they dial, `https://…`.
    pub url: String,
}

impl AgentAccess {
    /// The token as an agent is given it: with what it knows its hub by.
    pub fn token_text(&self, made: &JoinSecret) -> String {
        let (id, secret) = (made.id, made.secret.clone());
        JoinTokenText { id, secret, authority: self.authority.fingerprint() }.to_string()
    }
}

impl app::Agents for AgentAccess {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn token(&self, made: &JoinSecret) -> String {
        self.token_text(made)
    }
}

/// What the handlers may use.
#[derive(Clone)]
pub struct Agents {
    site: Site,
    authority: Arc<Authority>,
    gate: Arc<Gate>,
}

/// The agents' addresses.
pub struct Built {
    /// Answers requests.
    pub router: Router,
    /// Every address it has, with its method.
    pub routes: Vec<(Method, &'static str)>,
}

/// Puts the agents' side together.
pub fn build(site: &Site, access: &AgentAccess) -> Built {
    let agents =
        Agents { site: site.clone(), authority: access.authority.clone(), gate: Arc::new(Gate::new()) };
    let table: [(Method, &'static str, MethodRouter<Agents>); 11] = [
        (Method::POST, register::PATH, post(register::handler)),
        (Method::POST, "/agent/v1/renew", post(renew::handler)),
        (Method::POST, "/agent/v1/begin", post(begin::handler)),
        (Method::GET, "/agent/v1/wants", get(wants::handler)),
        (Method::GET, "/agent/v1/stream", get(stream::handler)),
        (Method::GET, "/agent/v1/releases/{release}/bundle/{digest}", get(bundle::handler)),
        (Method::GET, "/agent/v1/plans/{plan}/bundle/{digest}", get(planned_bundle::handler)),
        (
            Method::POST,
            "/agent/v1/plans/{plan}/effect",
            post(effect::handler).layer(DefaultBodyLimit::max(LARGEST_EFFECT)),
        ),
        (
            Method::POST,
            "/agent/v1/reports",
            post(report::handler).layer(DefaultBodyLimit::max(LARGEST_REPORT)),
        ),
        (
            Method::PUT,
            "/agent/v1/schema/{digest}",
            put(schema::handler).layer(DefaultBodyLimit::max(domain::schema::MAX_BYTES)),
        ),
        (Method::POST, "/agent/v1/heartbeat", post(heartbeat::handler)),
    ];
    let mut routes = Vec::new();
    let mut router = Router::new();
    for (method, path, handler) in table {
        routes.push((method, path));
        router = router.route(path, handler);
    }
    let router = router
        .fallback(async || Refusal::of_status(StatusCode::NOT_FOUND))
        .method_not_allowed_fallback(async || Refusal::of_status(StatusCode::METHOD_NOT_ALLOWED))
        .layer(DefaultBodyLimit::max(SMALL_BODY))
        .layer(from_fn_with_state(agents.clone(), admit::guard))
        .layer(RequestBodyLimitLayer::new(LARGEST_REPORT))
        .layer(RequestBodyTimeoutLayer::new(BODY_SILENCE))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, ANSWER_WITHIN))
        .layer(CatchPanicLayer::new())
        .layer(from_fn(crate::problem::every_refusal_is_a_problem))
        .layer(from_fn_with_state(site.clone(), crate::metrics::count))
        .layer(CompressionLayer::new().no_gzip().br(true).quality(CompressionLevel::Fastest))
        .with_state(agents);
    Built { router, routes }
}
