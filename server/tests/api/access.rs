//! Who may pass: every address of the site is tried as a stranger.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};

use server::agents::AgentAccess;
use server::{Options, Site};

use crate::house::{Answer, House};

/// What a stranger may have. A new address is not on this list, and this test says so until somebody decides.
const FOR_EVERYBODY: [&str; 10] = [
    "GET /livez",
    "GET /healthz",
    "GET /readyz",
    "GET /version",
    "GET /sign-in",
    "GET /setup",
    "POST /api/fn/sign_in",
    "POST /api/fn/sign_up",
    "POST /api/fn/sign_out",
    "GET /api/fn/needs_setup",
];

async fn as_stranger(house: &House, method: &Method, path: &str, accept: &str) -> Answer {
    let path = path.replace("{project}", "default").replace(['{', '}'], "x");
    let request = Request::builder().method(method).uri(path).header("accept", accept);
    let request = request.header("content-type", "application/json");
    house.raw(request.body(Body::from("{}")).unwrap()).await
}

fn a_call_for_persons() -> (&'static str, Method) {
    let calls = server::console::calls();
    calls.into_iter().find(|(path, _)| !server::console::OPEN_CALLS.contains(path)).unwrap()
}

#[tokio::test]
async fn every_address_refuses_a_stranger_but_for_a_short_list() {
    let house = House::new().await;
    assert!(house.built.routes.len() > 50, "{} addresses", house.built.routes.len());
    for (method, path) in &house.built.routes {
        let route = format!("{method} {path}");
        let answer = as_stranger(&house, method, path, "application/json").await;
        let refused = match answer.status {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::SEE_OTHER => answer.header("location").starts_with("/sign-in"),
            _ => false,
        };
        assert_eq!(refused, !FOR_EVERYBODY.contains(&&*route), "{route} answered {}", answer.status);
    }
}

#[tokio::test]
async fn every_address_of_agents_refuses_whoever_shows_no_certificate_or_token() {
    let house = House::new().await;
    let clock = house.hub.clock().clone();
    let (authority, _) = hub::Authority::make(clock).unwrap();
    let access = AgentAccess { authority: Arc::new(authority), url: "https://127.0.0.1:1".to_owned() };
    let agents = server::agents::build(&Site::new(Options::bare(house.hub.clone())), &access);
    assert!(agents.routes.len() >= 8);
    let mut tried: Vec<(Method, String)> =
        agents.routes.iter().map(|(method, path)| (method.clone(), path.replace(['{', '}'], "x"))).collect();
    tried.push((Method::GET, "/agent/v1/no/such/address".to_owned()));
    tried.push((Method::GET, "/api/v1/clusters".to_owned()));
    for (method, path) in tried {
        let body = r#"{"token":"flj_x","name":"x","csr":""}"#;
        let request =
            Request::builder().method(&method).uri(&path).header("content-type", "application/json");
        // The people's token opens nothing here.
        let request = request.header("authorization", format!("Bearer {}", house.token));
        let request = request.body(Body::from(body)).unwrap();
        let answer = tower::ServiceExt::oneshot(agents.router.clone(), request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{method} {path}");
    }
}

#[tokio::test]
async fn the_short_list_has_no_entry_that_is_not_there() {
    let house = House::new().await;
    let routes: Vec<String> =
        house.built.routes.iter().map(|(method, path)| format!("{method} {path}")).collect();
    for route in FOR_EVERYBODY {
        assert!(routes.iter().any(|known| known == route), "{route}");
    }
}

#[tokio::test]
async fn the_table_of_addresses_has_every_call_of_the_console() {
    let house = House::new().await;
    for (path, method) in server::console::calls() {
        let known = (method, path.to_owned());
        assert!(house.built.routes.contains(&known), "{known:?}");
    }
    assert!(server::console::calls().len() >= 10);
}

#[tokio::test]
async fn a_stranger_is_refused_in_the_form_they_can_read() {
    let house = House::new().await;
    let api = as_stranger(&house, &Method::GET, "/api/v1/clusters", "text/html").await;
    assert_eq!(api.problem(), (401, "Unauthenticated".to_owned()));
    assert_eq!(api.header("www-authenticate"), "Bearer");
    let page = as_stranger(&house, &Method::GET, "/workloads?state=Failed", "text/html").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert_eq!(page.header("location"), "/sign-in?next=%2Fworkloads%3Fstate%3DFailed");
    let (path, method) = a_call_for_persons();
    let call = as_stranger(&house, &method, path, "application/json").await;
    assert_eq!(call.status, StatusCode::UNAUTHORIZED);
    assert!(call.text.contains("unauthenticated"), "{}", call.text);
    let unknown = as_stranger(&house, &Method::GET, "/no/such/page", "text/html").await;
    assert_eq!(unknown.status, StatusCode::SEE_OTHER, "what is not there is not told to strangers");
}

#[tokio::test]
async fn while_nobody_exists_everybody_is_sent_to_set_up() {
    let (_hub, built, _folder) = House::empty().await;
    let request = Request::get("/workloads").body(Body::empty()).unwrap();
    let answer = Answer::of(tower::ServiceExt::oneshot(built.router, request).await.unwrap()).await;
    assert_eq!((answer.status, answer.header("location")), (StatusCode::SEE_OTHER, "/setup"));
}

#[tokio::test]
async fn a_credential_that_is_not_one_is_refused_and_not_replaced_by_another() {
    let house = House::new().await;
    for credential in ["Bearer nonsense", "Bearer ", "Basic YTpi", "Bearer flt_0000", "", "\u{1F511}"] {
        let request = Request::get("/api/v1/clusters").header("authorization", credential.as_bytes());
        let answer = house.raw(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.problem(), (401, "Unauthenticated".to_owned()), "{credential:?}");
    }
}

#[tokio::test]
async fn a_token_opens_no_page_and_no_call() {
    let house = House::new().await;
    assert_eq!(house.get("/workloads").await.status, StatusCode::SEE_OTHER);
    let (path, method) = a_call_for_persons();
    let call = house.send(method, path, &[("sec-fetch-site", "same-origin")], Body::empty()).await;
    assert_eq!(call.status, StatusCode::UNAUTHORIZED);
}
