//! A server over its own database, and requests to it without a socket.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use domain::api_token::NewApiToken;
use domain::cluster::ClusterKind;
use domain::role::Role;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig, KeySource, NewCluster};
use serde_json::{Value, json};
use server::agents::AgentEndpoint;
use server::{ServerRouter, Site, SiteOptions};
use tower::ServiceExt as _;

/// Name of every test server's user.
pub const USER_NAME: &str = "ada";
/// The user's password.
pub const PASSWORD: &str = "correct horse battery";

/// Path of the workloads.
pub const WORKLOADS: &str = "/api/v1/projects/default/workloads";

/// A web application with one user and an API token.
pub struct TestServer {
    pub hub: Hub,
    pub app: ServerRouter,
    pub token: String,
    pub actor: Actor,
    _folder: tempfile::TempDir,
}

/// A response with its body.
pub struct TestResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl TestResponse {
    pub async fn read(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Self {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts that the response is a problem; returns its status and code.
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        assert_eq!(problem["type"], format!("urn:flotilla:problem:{}", problem["code"].as_str().unwrap()));
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        (self.status.as_u16(), problem["code"].as_str().unwrap().to_owned())
    }
}

impl TestServer {
    pub async fn start() -> Self {
        Self::start_with(SiteOptions::bare).await
    }

    /// A server with other options.
    pub async fn start_with(options: impl FnOnce(Hub) -> SiteOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_over(open_hub(folder.path()).await, folder, options).await
    }

    /// A server on the database with this address.
    pub async fn start_on(database: &str) -> Self {
        // The key of servers that share a database of PostgreSQL.
        let keys = Some(KeySource::Value(format!("flotilla-key-1:{}", "A".repeat(43))));
        let config = HubConfig { keys, ..HubConfig::new(database, Clock::system()) };
        let hub = Hub::open(config).await.unwrap();
        Self::start_over(hub, tempfile::tempdir().unwrap(), SiteOptions::bare).await
    }

    /// A server over this hub, with other options.
    pub async fn start_over(
        hub: Hub,
        folder: tempfile::TempDir,
        options: impl FnOnce(Hub) -> SiteOptions,
    ) -> Self {
        let user = hub.ensure_user(USER_NAME, PASSWORD).await.unwrap();
        let actor = Actor::new(USER_NAME, ActorKind::Session(user), Role::Admin);
        let token = hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
        let built = server::build_router(&Site::new(options(hub.clone())));
        Self { hub, app: built, token, actor, _folder: folder }
    }

    /// A server without users.
    pub async fn start_without_users() -> (Hub, ServerRouter, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let hub = open_hub(folder.path()).await;
        let built = server::build_router(&Site::new(SiteOptions::bare(hub.clone())));
        (hub, built, folder)
    }

    /// Sends a request unchanged.
    pub async fn send_raw(&self, request: Request<Body>) -> TestResponse {
        TestResponse::read(self.app.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Sends a request with the token.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> TestResponse {
        self.send_raw(self.request(method, path, headers, body)).await
    }

    pub fn request(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(body).unwrap()
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send(Method::GET, path, &[], Body::empty()).await
    }

    /// The status of a response whose body may have no end.
    pub async fn get_status(&self, path: &str) -> StatusCode {
        let request = self.request(Method::GET, path, &[], Body::empty());
        self.app.router.clone().oneshot(request).await.unwrap().status()
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send(Method::DELETE, path, &[], Body::empty()).await
    }

    pub async fn send_json(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> TestResponse {
        let mut headers = headers.to_vec();
        headers.push((CONTENT_TYPE.as_str(), "application/json"));
        self.send(method, path, &headers, Body::from(body.to_string())).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.send_json(Method::POST, path, &[], body).await
    }

    /// Registers a cluster.
    pub async fn register_cluster(&self, name: &str, labels: &[(&str, &str)]) {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let new = NewCluster { labels, ..NewCluster::new(name, ClusterKind::Agent) };
        self.hub.register_cluster(&self.actor, new).await.unwrap();
    }

    /// Creates a workload that can be published to clusters with `env=prod`.
    pub async fn create_workload(&self, name: &str) -> Value {
        let answer = self.post(WORKLOADS, &new_workload(name)).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        answer.json()
    }
}

/// Options of a server with a listener for agents.
pub fn options_with_agents(hub: Hub) -> SiteOptions {
    let (authority, _) = hub::Authority::generate(hub.clock().clone()).unwrap();
    let endpoint = AgentEndpoint { authority: Arc::new(authority), url: "https://127.0.0.1:1".to_owned() };
    SiteOptions { agent_endpoint: Some(endpoint), ..SiteOptions::bare(hub) }
}

/// A workload that can be published.
pub fn new_workload(name: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: apps\ndata:\n  key: value\n"
    );
    json!({
        "name": name,
        "spec": {
            "namespace": "apps",
            "source": { "type": "yaml", "files": [{ "name": "all.yaml", "text": text }] },
            "placement": { "predicates": [{ "labelSelector": "env=prod" }] }
        }
    })
}

async fn open_hub(folder: &std::path::Path) -> Hub {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    Hub::open(HubConfig::new(database, Clock::system())).await.unwrap()
}
