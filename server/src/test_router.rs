//! The router of the console for tests of its layers, with one signed-in user.

use axum::Router;
use axum::body::Body;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Builder;
use axum::http::{Method, Request};
use axum::response::Response;
use domain::api_token::NewApiToken;
use domain::role::Role;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig};
use tower::ServiceExt as _;

use crate::router::build_router;
use crate::site::{Site, SiteOptions};

/// Path of the workloads.
pub const WORKLOADS: &str = "/api/v1/projects/default/workloads";

/// The router, and a token of its user.
pub struct TestRouter {
    router: Router,
    pub site: Site,
    token: String,
    _folder: tempfile::TempDir,
}

impl TestRouter {
    /// A router over its own database. The budgets are those of the process: each test has a user of another name.
    pub async fn start(user: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let id = hub.ensure_user(user, "correct horse battery").await.unwrap();
        let actor = Actor::new(user, ActorKind::Session(id), Role::Admin);
        let token = hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
        let site = Site::new(SiteOptions::bare(hub));
        let router = build_router(&site).router;
        Self { router, site, token, _folder: folder }
    }

    /// A request with the token.
    pub fn request(&self, method: Method, path: &str) -> Builder {
        let request = Request::builder().method(method).uri(path);
        request.header(AUTHORIZATION, format!("Bearer {}", self.token))
    }

    /// Sends a request with this body.
    pub async fn send(&self, request: Builder, body: Body) -> Response {
        self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap()
    }
}
