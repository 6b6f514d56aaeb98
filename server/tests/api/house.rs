//! A site over a database of its own, and requests to it without a socket.

use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use domain::cluster::ClusterKind;
use hub::{Actor, ActorKind, Clock, Config, Hub, NewCluster};
use serde_json::{Value, json};
use server::{Built, Options, Site};
use tower::ServiceExt as _;

/// The person of every house.
pub const NAME: &str = "ada";
/// Her password.
pub const PASSWORD: &str = "correct horse battery";

/// Where workloads are.
pub const WORKLOADS: &str = "/api/v1/projects/default/workloads";

/// A site with one person and her token.
pub struct House {
    pub hub: Hub,
    pub built: Built,
    pub token: String,
    pub actor: Actor,
    _folder: tempfile::TempDir,
}

/// What came back.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(response: Response) -> Self {
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

    /// Status and code of a problem, after checking that it is one.
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        assert_eq!(problem["type"], format!("urn:flotilla:problem:{}", problem["code"].as_str().unwrap()));
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        (self.status.as_u16(), problem["code"].as_str().unwrap().to_owned())
    }
}

impl House {
    pub async fn new() -> Self {
        Self::with(Options::bare).await
    }

    /// A house whose site is put together in another way.
    pub async fn with(options: impl FnOnce(Hub) -> Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = open(folder.path()).await;
        let user = hub.ensure_user(NAME, PASSWORD).await.unwrap();
        let actor = Actor::new(NAME, ActorKind::Session(user));
        let token = hub.token_create(&actor, "test", 1).await.unwrap().secret;
        let built = server::build(&Site::new(options(hub.clone())));
        Self { hub, built, token, actor, _folder: folder }
    }

    /// A house where nobody has signed up yet.
    pub async fn empty() -> (Hub, Built, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let hub = open(folder.path()).await;
        let built = server::build(&Site::new(Options::bare(hub.clone())));
        (hub, built, folder)
    }

    /// Sends a request as it is.
    pub async fn raw(&self, request: Request<Body>) -> Answer {
        Answer::of(self.built.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Sends a request with the token.
    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Body) -> Answer {
        self.raw(self.request(method, path, headers, body)).await
    }

    pub fn request(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(body).unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], Body::empty()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], Body::empty()).await
    }

    pub async fn json(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut headers = headers.to_vec();
        headers.push((CONTENT_TYPE.as_str(), "application/json"));
        self.send(method, path, &headers, Body::from(body.to_string())).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.json(Method::POST, path, &[], body).await
    }

    /// Registers a cluster.
    pub async fn cluster(&self, name: &str, labels: &[(&str, &str)]) {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let new = NewCluster { labels, ..NewCluster::new(name, ClusterKind::Agent) };
        self.hub.cluster_register(&self.actor, new).await.unwrap();
    }

    /// Makes a workload that can be published on clusters with `env=prod`.
    pub async fn workload(&self, name: &str) -> Value {
        let answer = self.post(WORKLOADS, &new_workload(name)).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        answer.json()
    }
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

async fn open(folder: &std::path::Path) -> Hub {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    Hub::open(Config { database, clock: Clock::system() }).await.unwrap()
}
