//! Outages of the database (P21): every route answers 503 with `Retry-After` and in its own form, never 500.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request, StatusCode};
use domain::JoinTokenId;
use domain::api_token::NewApiToken;
use domain::role::Role;
use domain::user::NewUser;
use hub::DatabaseOutage;
use serde_json::json;
use server::agents::AgentEndpoint;
use server::listener::Peer;
use server::{Site, SiteOptions};
use tower::ServiceExt as _;
use wire::agent::JoinTokenParts;

use crate::sessions::{cookie, form, sign_in};
use crate::test_server::{
    PASSWORD, TestResponse, TestServer, USER_NAME, WORKLOADS, new_workload, options_with_agents,
};

/// Routes that read no row: they answer as ever.
const WITHOUT_DATABASE: [&str; 4] = ["GET /livez", "GET /healthz", "GET /version", "GET /setup"];

/// A user who is not signed in: revoking the sessions of the other one would end the walk.
const OTHER_USER: &str = "grace";

/// A server with a published workload, a signed-in user and another one.
struct OutageTest {
    server: TestServer,
    cookie: String,
}

impl OutageTest {
    async fn start() -> Self {
        let server = TestServer::start_with(options_with_agents).await;
        server.register_cluster("eu-1", &[("env", "prod")]).await;
        server.create_workload("web").await;
        let published = server.post(&format!("{WORKLOADS}/web:publish"), &json!({ "message": "" })).await;
        assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
        let cookie = cookie(&sign_in(&server).await);
        let other = NewUser { name: OTHER_USER.to_owned(), role: Role::Viewer };
        server.hub.invite_user(&server.actor, other).await.unwrap();
        Self { server, cookie }
    }

    /// The routes of the application; those that delete come last, and then the one that ends the session.
    fn routes(&self) -> Vec<(Method, String)> {
        let mut routes = self.server.app.routes.clone();
        let order = |(method, path): &(Method, String)| {
            (
                path.ends_with("/sign_out"),
                *method == Method::DELETE,
                *method != Method::GET,
                path.contains(":unpublish"),
            )
        };
        routes.sort_by_key(order);
        routes
    }

    /// A request as the clients of this route send it.
    fn request(&self, method: &Method, path: &str) -> Request<Body> {
        let body = match (method, path) {
            (&Method::POST, "/api/v1/projects/{project}/workloads") => new_workload("other"),
            (&Method::POST, "/api/v1/tokens") => json!({ "name": "ci", "days": 1 }),
            (_, path) if path.ends_with(":publish") => json!({ "message": "m" }),
            _ => json!({}),
        };
        if path.starts_with("/api/fn/") && *method == Method::POST {
            let name = if path.ends_with("/user_sessions_revoke") { OTHER_USER } else { USER_NAME };
            let credentials = format!("name={name}&password={}&next=&token=x", PASSWORD.replace(' ', "+"));
            // A new session ends the one of the cookie.
            let starts_session = path.ends_with("/sign_in") || path.ends_with("/sign_up");
            let cookie = [("cookie", &*self.cookie)];
            return form(path, &credentials, if starts_session { &[] } else { &cookie });
        }
        if path.ends_with("/back-channel-logout") {
            return form(&fill_path(path), "logout_token=x", &[]);
        }
        let query = if path.ends_with("/password_link_read") { "?token=x" } else { "" };
        let request = Request::builder().method(method).uri(fill_path(path) + query);
        let request = request.header("content-type", "application/json").header("if-match", "*");
        // A webhook without a signature is refused before the database is asked.
        let request = request.header("x-gitlab-token", "x");
        let request = if path.starts_with("/api/v1") || path == "/metrics" {
            request.header("authorization", format!("Bearer {}", self.server.token))
        } else if path == "/install/{cluster}" {
            request.header("authorization", format!("Bearer {}", well_formed_join_token()))
        } else {
            request.header("cookie", &self.cookie).header("accept", accepted_type(path))
        };
        request.body(Body::from(body.to_string())).unwrap()
    }

    async fn send(&self, method: &Method, path: &str) -> TestResponse {
        read_response(self.server.app.router.clone().oneshot(self.request(method, path)).await.unwrap()).await
    }

    fn failures(&self) -> u64 {
        self.server.hub.count_outage_failures().iter().map(|(_, count)| count).sum()
    }
}

/// A join token that only the database can reject.
fn well_formed_join_token() -> String {
    let hash = "0".repeat(64);
    JoinTokenParts { id: JoinTokenId::from_parts(1, 1), secret: hash.clone(), authority: hash }.to_string()
}

fn accepted_type(path: &str) -> &'static str {
    if path.starts_with("/api/fn/") { "application/json" } else { "text/html" }
}

/// Values for the parameters of a path.
fn fill_path(path: &str) -> String {
    let mut filled = String::new();
    for part in path.split_inclusive(['{', '}']) {
        match part.strip_suffix('}') {
            Some("project") => filled.push_str("default"),
            Some("workload" | "name") => filled.push_str("web"),
            Some("cluster") => filled.push_str("eu-1"),
            Some("number" | "revision") => filled.push('1'),
            Some(_) => filled.push('x'),
            None => filled.push_str(part.trim_end_matches('{')),
        }
    }
    filled
}

/// The response; the body of a stream is not read, because it does not end.
async fn read_response(response: axum::response::Response) -> TestResponse {
    let is_stream =
        response.headers().get("content-type").is_some_and(|kind| kind.as_bytes() == b"text/event-stream");
    if is_stream {
        let (parts, _) = response.into_parts();
        return TestResponse { status: parts.status, headers: parts.headers, text: String::new() };
    }
    TestResponse::read(response).await
}

fn assert_unavailable(route: &str, answer: &TestResponse) {
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{route}: {}", answer.text);
    assert_eq!(answer.header("set-cookie"), "", "{route}: nobody is signed out");
    if route == "GET /readyz" {
        assert!(answer.text.contains("database"), "{}", answer.text);
        return;
    }
    assert!(answer.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0), "{route}");
    let path = route.split_once(' ').unwrap().1;
    if path.starts_with("/api/fn/") {
        assert!(answer.text.contains("databaseUnavailable"), "{route}: {}", answer.text);
    } else if ["/api/v1", "/metrics", "/install/"].iter().any(|one| path.starts_with(one)) {
        assert_eq!(answer.problem().1, "DatabaseUnavailable", "{route}");
    } else if path.ends_with("/back-channel-logout") {
        assert_eq!(answer.json()["error"], "invalid_request", "{route}");
    } else {
        assert!(answer.header("content-type").starts_with("text/html"), "{route}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_every_route_answers_503_in_its_own_form_without_a_database() {
    let test = OutageTest::start().await;
    test.server.hub.close().await;
    for (method, path) in test.routes() {
        let route = format!("{method} {path}");
        let answer = test.send(&method, &path).await;
        let is_file = method == Method::GET && answer.header("content-type").starts_with("text/css");
        if WITHOUT_DATABASE.contains(&&*route) || is_file {
            assert_eq!(answer.status, StatusCode::OK, "{route}: {}", answer.text);
        } else {
            assert_unavailable(&route, &answer);
            let is_page = answer.header("content-type").starts_with("text/html") && path != "/sign-in";
            assert!(!is_page || answer.text.contains("agents keep applying"), "{route}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_every_route_answers_503_whichever_of_its_transactions_fails() {
    let test = OutageTest::start().await;
    let mut transactions = 0;
    for (method, path) in test.routes() {
        let route = format!("{method} {path}");
        for (skipped, outage) in (0..).zip(DatabaseOutage::ALL.into_iter().cycle()) {
            let before = test.failures();
            test.server.hub.inject_outage(Some((outage, skipped)));
            let answer = test.send(&method, &path).await;
            test.server.hub.inject_outage(None);
            if test.failures() == before {
                let is_refused_form = answer.text.contains("G100");
                assert!(!answer.status.is_server_error() || is_refused_form, "{route}: {}", answer.text);
                break;
            }
            if WITHOUT_DATABASE.contains(&&*route) {
                assert_eq!(answer.status, StatusCode::OK, "{route}: {}", answer.text);
                break;
            }
            // What fails later than the head of a stream is retried by the stream.
            if answer.header("content-type") == "text/event-stream" {
                break;
            }
            assert_unavailable(&route, &answer);
            transactions += 1;
        }
    }
    assert!(transactions > 150, "{transactions}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_every_agent_route_answers_503_without_a_database() {
    let test = OutageTest::start().await;
    let hub = &test.server.hub;
    let (authority, _) = hub::Authority::generate(hub.clock().clone()).unwrap();
    let access = AgentEndpoint { authority: Arc::new(authority), url: "https://127.0.0.1:1".to_owned() };
    let agents = server::agents::build_router(&Site::new(SiteOptions::bare(hub.clone())), &access);
    let token = "flj_0000000000000000000000000A.secret";
    let peer = Peer { address: ([127, 0, 0, 1], 1).into(), certificate: Some(certificate().into()) };
    hub.close().await;
    for (method, path) in &agents.routes {
        let body = json!({ "token": token, "name": "x", "csr": "" }).to_string();
        let request = Request::builder().method(method).uri(path.replace(['{', '}'], "x"));
        let mut request = request.header("content-type", "application/json").body(Body::from(body)).unwrap();
        request.extensions_mut().insert(ConnectInfo(peer.clone()));
        let answer = TestResponse::read(agents.router.clone().oneshot(request).await.unwrap()).await;
        let route = format!("{method} {path}");
        if *path == "/agent/v1/register" {
            // Its token is checked before the database is read; see the test of the agents for a valid one.
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{route}: {}", answer.text);
            continue;
        }
        assert_eq!(answer.problem(), (503, "DatabaseUnavailable".to_owned()), "{route}");
        assert!(answer.headers.contains_key("retry-after"), "{route}");
    }
}

/// A certificate as the authority issues it; its signature is checked by TLS only.
fn certificate() -> Vec<u8> {
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let cluster = domain::ClusterId::from_parts(1, 1).to_string();
    params.distinguished_name.push(rcgen::DnType::CommonName, cluster);
    params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_reads_continue_while_the_database_accepts_no_writes() {
    let test = OutageTest::start().await;
    // The use of the token is due to be recorded, and the session to be extended.
    let secret = test
        .server
        .hub
        .create_token(&test.server.actor, &NewApiToken::new("unused", 1))
        .await
        .unwrap()
        .secret;
    test.server.hub.limit_database_pages(Some(1)).await.unwrap();
    let writes = test.server.post(WORKLOADS, &big_workload("big")).await;
    assert_eq!(writes.problem(), (503, "DatabaseUnavailable".to_owned()));
    assert!(
        writes.json()["detail"].as_str().unwrap().contains("disk of the database is full"),
        "{}",
        writes.text
    );
    let request = Request::get(WORKLOADS).header("authorization", format!("Bearer {secret}"));
    let read = test.server.send_raw(request.body(Body::empty()).unwrap()).await;
    assert_eq!(read.status, StatusCode::OK, "{}", read.text);
    let page = test.send(&Method::GET, "/workloads").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let banner = "The disk of the database is full: nothing can be saved";
    assert!(page.text.contains(banner) && page.text.contains("agents keep applying"), "{}", page.text);
    assert_eq!(test.send(&Method::GET, "/readyz").await.status, StatusCode::OK);
    let metrics = test.server.get("/metrics").await.text;
    assert!(metrics.contains("flotilla_database_failures_total{cause=\"diskFull\"} "), "{metrics}");

    test.server.hub.limit_database_pages(None).await.unwrap();
    let written = test.server.post(WORKLOADS, &big_workload("big")).await;
    assert_eq!(written.status, StatusCode::CREATED, "without a restart: {}", written.text);
}

/// A workload that needs many new pages of the database.
fn big_workload(name: &str) -> serde_json::Value {
    let mut new = new_workload(name);
    let data = "x".repeat(400_000);
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: apps\ndata:\n  key: {data}\n"
    );
    new["spec"]["source"]["files"][0]["text"] = json!(text);
    new
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_an_outage_is_no_failed_attempt_to_sign_in() {
    let test = OutageTest::start().await;
    for _ in 0..10 {
        test.server.hub.inject_outage(Some((DatabaseOutage::Unreachable, 0)));
        let refused = sign_in(&test.server).await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text);
    }
    test.server.hub.inject_outage(None);
    assert_eq!(sign_in(&test.server).await.status, StatusCode::OK);
}
