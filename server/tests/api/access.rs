//! Authentication: unauthenticated requests to every route.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};

use server::agents::AgentEndpoint;
use server::{Site, SiteOptions};

use crate::test_server::{TestResponse, TestServer};

/// The public routes. A new public route fails the test until it is added here.
const PUBLIC_ROUTES: [&str; 15] = [
    "GET /livez",
    "GET /healthz",
    "GET /readyz",
    "GET /version",
    "GET /sign-in",
    "GET /setup",
    "GET /set-password",
    "POST /api/fn/sign_in",
    "POST /api/fn/sign_up",
    "POST /api/fn/sign_out",
    "GET /api/fn/needs_setup",
    "GET /api/fn/password_link_read",
    "POST /api/fn/password_set",
    "GET /api/fn/sign_in_providers",
    // The other routes of an identity provider lead to the sign-in page.
    "POST /auth/{provider}/back-channel-logout",
];

async fn send_unauthenticated(
    server: &TestServer,
    method: &Method,
    path: &str,
    accept: &str,
) -> TestResponse {
    let path = path.replace("{project}", "default").replace(['{', '}'], "x");
    let request = Request::builder().method(method).uri(path).header("accept", accept);
    let request = request.header("content-type", "application/json");
    server.send_raw(request.body(Body::from("{}")).unwrap()).await
}

fn protected_server_fn() -> (&'static str, Method) {
    let calls = server::console::list_server_fns();
    calls.into_iter().find(|(path, _)| !server::console::PUBLIC_SERVER_FNS.contains(path)).unwrap()
}

#[tokio::test]
async fn every_route_except_the_public_ones_rejects_unauthenticated_requests() {
    let server = TestServer::start().await;
    assert!(server.app.routes.len() > 50, "{} addresses", server.app.routes.len());
    for (method, path) in &server.app.routes {
        let route = format!("{method} {path}");
        let answer = send_unauthenticated(&server, method, path, "application/json").await;
        let refused = match answer.status {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::SEE_OTHER => answer.header("location").starts_with("/sign-in"),
            _ => false,
        };
        assert_eq!(refused, !PUBLIC_ROUTES.contains(&&*route), "{route} answered {}", answer.status);
    }
}

#[tokio::test]
async fn every_agent_route_rejects_requests_without_certificate_or_join_token() {
    let server = TestServer::start().await;
    let clock = server.hub.clock().clone();
    let (authority, _) = hub::Authority::generate(clock).unwrap();
    let access = AgentEndpoint { authority: Arc::new(authority), url: "https://127.0.0.1:1".to_owned() };
    let agents = server::agents::build_router(&Site::new(SiteOptions::bare(server.hub.clone())), &access);
    assert!(agents.routes.len() >= 8);
    let mut tried: Vec<(Method, String)> =
        agents.routes.iter().map(|(method, path)| (method.clone(), path.replace(['{', '}'], "x"))).collect();
    tried.push((Method::GET, "/agent/v1/no/such/address".to_owned()));
    tried.push((Method::GET, "/api/v1/clusters".to_owned()));
    for (method, path) in tried {
        let body = r#"{"token":"flj_x","name":"x","csr":""}"#;
        let request =
            Request::builder().method(&method).uri(&path).header("content-type", "application/json");
        // API tokens are not accepted here.
        let request = request.header("authorization", format!("Bearer {}", server.token));
        let request = request.body(Body::from(body)).unwrap();
        let answer = tower::ServiceExt::oneshot(agents.router.clone(), request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{method} {path}");
    }
}

#[tokio::test]
async fn every_public_route_exists() {
    let server = TestServer::start().await;
    let routes: Vec<String> =
        server.app.routes.iter().map(|(method, path)| format!("{method} {path}")).collect();
    for route in PUBLIC_ROUTES {
        assert!(routes.iter().any(|known| known == route), "{route}");
    }
}

#[tokio::test]
async fn the_routes_include_every_server_function() {
    let server = TestServer::start().await;
    for (path, method) in server::console::list_server_fns() {
        let known = (method, path.to_owned());
        assert!(server.app.routes.contains(&known), "{known:?}");
    }
    assert!(server::console::list_server_fns().len() >= 10);
}

#[tokio::test]
async fn unauthenticated_requests_are_rejected_in_the_form_of_their_route() {
    let server = TestServer::start().await;
    let api = send_unauthenticated(&server, &Method::GET, "/api/v1/clusters", "text/html").await;
    assert_eq!(api.problem(), (401, "Unauthenticated".to_owned()));
    assert_eq!(api.header("www-authenticate"), "Bearer");
    let page = send_unauthenticated(&server, &Method::GET, "/workloads?state=Failed", "text/html").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert_eq!(page.header("location"), "/sign-in?next=%2Fworkloads%3Fstate%3DFailed");
    let (path, method) = protected_server_fn();
    let call = send_unauthenticated(&server, &method, path, "application/json").await;
    assert_eq!(call.status, StatusCode::UNAUTHORIZED);
    assert!(call.text.contains("unauthenticated"), "{}", call.text);
    let unknown = send_unauthenticated(&server, &Method::GET, "/no/such/page", "text/html").await;
    assert_eq!(unknown.status, StatusCode::SEE_OTHER, "unknown paths are not revealed");
}

#[tokio::test]
async fn without_users_every_page_redirects_to_set_up() {
    let (_hub, built, _folder) = TestServer::start_without_users().await;
    let request = Request::get("/workloads").body(Body::empty()).unwrap();
    let answer = TestResponse::read(tower::ServiceExt::oneshot(built.router, request).await.unwrap()).await;
    assert_eq!((answer.status, answer.header("location")), (StatusCode::SEE_OTHER, "/setup"));
}

#[tokio::test]
async fn an_invalid_credential_is_rejected_and_not_replaced_by_another() {
    let server = TestServer::start().await;
    for credential in ["Bearer nonsense", "Bearer ", "Basic YTpi", "Bearer flt_0000", "", "\u{1F511}"] {
        let request = Request::get("/api/v1/clusters").header("authorization", credential.as_bytes());
        let answer = server.send_raw(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.problem(), (401, "Unauthenticated".to_owned()), "{credential:?}");
    }
}

#[tokio::test]
async fn an_api_token_gives_no_access_to_pages_and_server_functions() {
    let server = TestServer::start().await;
    assert_eq!(server.get("/workloads").await.status, StatusCode::SEE_OTHER);
    let (path, method) = protected_server_fn();
    let call = server.send(method, path, &[("sec-fetch-site", "same-origin")], Body::empty()).await;
    assert_eq!(call.status, StatusCode::UNAUTHORIZED);
}
