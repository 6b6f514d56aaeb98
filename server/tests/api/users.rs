//! Users, their links and their API tokens.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use domain::role::Role;
use serde_json::json;

use crate::roles::RoleUser;
use crate::sessions::{cookie, form};
use crate::test_server::{PASSWORD, TestResponse, TestServer, USER_NAME, WORKLOADS, new_workload};

const USERS: &str = "/api/v1/users";
const TOKENS: &str = "/api/v1/tokens";

async fn with_token(
    server: &TestServer,
    token: &str,
    method: Method,
    path: &str,
    body: &str,
) -> TestResponse {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.header("authorization", format!("Bearer {token}"));
    server.send_raw(request.body(Body::from(body.to_owned())).unwrap()).await
}

async fn page_status(server: &TestServer, cookie: &str) -> StatusCode {
    server
        .send_raw(Request::get("/workloads").header("cookie", cookie).body(Body::empty()).unwrap())
        .await
        .status
}

async fn set_password(server: &TestServer, link: &str, password: &str) -> TestResponse {
    let token = link.split_once("token=").unwrap().1;
    let body = format!("token={token}&password={}", password.replace(' ', "+"));
    server.send_raw(form("/api/fn/password_set", &body, &[])).await
}

#[tokio::test]
async fn an_invited_user_sets_a_password_with_a_link_that_works_once() {
    let server = TestServer::start().await;
    let invited = server.post(USERS, &json!({"name": "bob", "role": "publisher"})).await;
    assert_eq!(invited.status, StatusCode::CREATED, "{}", invited.text);
    let link = invited.json()["link"].as_str().unwrap().to_owned();
    assert_eq!(invited.json()["user"]["state"], "invited");
    let early = format!("name=bob&password={}&next=", PASSWORD.replace(' ', "+"));
    let early = server.send_raw(form("/api/fn/sign_in", &early, &[])).await;
    assert_eq!(early.status, StatusCode::UNAUTHORIZED);
    let page = server.send_raw(Request::get(&link).body(Body::empty()).unwrap()).await;
    assert!(page.status == StatusCode::OK && page.text.contains("bob"), "{}", page.text);
    let weak = set_password(&server, &link, "bob-bob-bob-1").await;
    assert_eq!(weak.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", weak.text);
    let set = set_password(&server, &link, PASSWORD).await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.text);
    assert_eq!(page_status(&server, &cookie(&set)).await, StatusCode::OK, "signed in");
    assert_eq!(set_password(&server, &link, PASSWORD).await.status, StatusCode::UNAUTHORIZED);
    let used = server.send_raw(Request::get(&link).body(Body::empty()).unwrap()).await;
    assert!(used.text.contains("not valid any more"), "{}", used.text);
    let users = server.get(USERS).await.json();
    assert_eq!((&users[1]["name"], &users[1]["state"]), (&json!("bob"), &json!("active")));
    assert_eq!(server.post(USERS, &json!({"name": "bob", "role": "viewer"})).await.problem().0, 409);
    assert_eq!(server.post(USERS, &json!({"name": "eve", "role": "king"})).await.problem().0, 400);
    let of_system = server.post(USERS, &json!({"name": "flotilla", "role": "viewer"})).await;
    assert_eq!(of_system.problem(), (422, "Invalid".to_owned()), "{}", of_system.text);
    let events = server.get("/api/v1/events").await;
    assert!(events.text.contains("bob was invited as publisher."), "{}", events.text);
}

#[tokio::test]
async fn a_reset_replaces_the_password_and_ends_the_sessions() {
    let server = TestServer::start().await;
    let bob = RoleUser::create(&server, Role::Editor).await;
    let reset = async || server.post(&format!("{USERS}/editor:resetPassword"), &json!({})).await;
    let old = reset().await.json()["link"].as_str().unwrap().to_owned();
    let link = reset().await.json()["link"].as_str().unwrap().to_owned();
    assert_eq!(page_status(&server, &bob.cookie).await, StatusCode::OK, "until the link is used");
    assert_eq!(set_password(&server, &old, PASSWORD).await.status, StatusCode::UNAUTHORIZED, "replaced");
    let set = set_password(&server, &link, "another long phrase 7").await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.text);
    assert_eq!(page_status(&server, &bob.cookie).await, StatusCode::SEE_OTHER);
    assert_eq!(page_status(&server, &cookie(&set)).await, StatusCode::OK);
}

#[tokio::test]
async fn a_disabled_user_has_no_session_no_token_and_no_link() {
    let server = TestServer::start().await;
    let bob = RoleUser::create(&server, Role::Publisher).await;
    let link = server.post(&format!("{USERS}/publisher:resetPassword"), &json!({})).await;
    let link = link.json()["link"].as_str().unwrap().to_owned();
    let disabled = server.post(&format!("{USERS}/publisher:disable"), &json!({})).await;
    assert_eq!(disabled.json()["state"], "disabled", "{}", disabled.text);
    assert_eq!(page_status(&server, &bob.cookie).await, StatusCode::SEE_OTHER);
    assert_eq!(bob.send(&server, &Method::GET, WORKLOADS, "").await.problem().0, 401);
    assert_eq!(set_password(&server, &link, PASSWORD).await.status, StatusCode::UNAUTHORIZED);
    let body = format!("name=publisher&password={}&next=", PASSWORD.replace(' ', "+"));
    let answer = server.send_raw(form("/api/fn/sign_in", &body, &[])).await;
    assert!(answer.status == StatusCode::UNAUTHORIZED && answer.text.contains("disabled"), "{}", answer.text);
    assert_eq!(server.post(&format!("{USERS}/publisher:resetPassword"), &json!({})).await.problem().0, 409);
    server.post(&format!("{USERS}/publisher:enable"), &json!({})).await;
    assert_eq!(bob.send(&server, &Method::GET, WORKLOADS, "").await.status, StatusCode::OK);
    assert_eq!(page_status(&server, &bob.cookie).await, StatusCode::SEE_OTHER, "the old session stays ended");
}

#[tokio::test]
async fn a_changed_role_applies_to_the_next_request_of_session_and_token() {
    let server = TestServer::start().await;
    let bob = RoleUser::create(&server, Role::Publisher).await;
    let role = json!({"role": "viewer"}).to_string();
    let path = format!("{USERS}/publisher/role");
    let changed = with_token(&server, &server.token, Method::PUT, &path, &role).await;
    assert_eq!(changed.json()["role"], "viewer", "{}", changed.text);
    let answer = bob.send(&server, &Method::POST, WORKLOADS, &new_workload("web").to_string()).await;
    assert_eq!(answer.problem(), (403, "Forbidden".to_owned()));
    assert_eq!(page_status(&server, &bob.cookie).await, StatusCode::OK);
    let missing =
        with_token(&server, &server.token, Method::PUT, &format!("{USERS}/nobody/role"), &role).await;
    assert_eq!(missing.problem().0, 404);
}

#[tokio::test]
async fn the_last_admin_keeps_the_role_and_cannot_be_disabled() {
    let server = TestServer::start().await;
    let path = format!("{USERS}/{USER_NAME}/role");
    let demote = async || {
        with_token(&server, &server.token, Method::PUT, &path, &json!({"role": "viewer"}).to_string()).await
    };
    assert_eq!(demote().await.problem(), (409, "FailedPrecondition".to_owned()));
    let disable = server.post(&format!("{USERS}/{USER_NAME}:disable"), &json!({})).await;
    assert_eq!(disable.problem().0, 409);
    // An invited admin can't sign in yet.
    server.post(USERS, &json!({"name": "eve", "role": "admin"})).await;
    assert_eq!(demote().await.problem().0, 409);
    RoleUser::create(&server, Role::Admin).await;
    assert_eq!(demote().await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_admins_who_demote_each_other_at_once_one_remains() {
    let server = TestServer::start().await;
    let other = RoleUser::create(&server, Role::Admin).await;
    let (one, two) = tokio::join!(
        server.hub.set_user_role(&server.actor, "admin", Role::Viewer),
        server.hub.set_user_role(&other.actor, USER_NAME, Role::Viewer),
    );
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
}

#[tokio::test]
async fn a_token_has_the_requested_role_and_never_more_than_its_creator() {
    let server = TestServer::start().await;
    let new = json!({"name": "ci", "role": "viewer", "project": "default", "days": 7});
    let created = server.post(TOKENS, &new).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let created = created.json();
    assert_eq!((&created["role"], &created["project"]), (&json!("viewer"), &json!("default")));
    let token = created["token"].as_str().unwrap();
    assert_eq!(created["secret"], token, "clients of earlier versions read this field");
    assert_eq!(with_token(&server, token, Method::GET, WORKLOADS, "").await.status, StatusCode::OK);
    let refused = with_token(&server, token, Method::POST, WORKLOADS, &new_workload("web").to_string()).await;
    assert_eq!(refused.problem(), (403, "Forbidden".to_owned()));
    let minted = with_token(&server, token, Method::POST, TOKENS, r#"{"name":"more","role":"viewer"}"#).await;
    assert_eq!(minted.problem(), (403, "Forbidden".to_owned()), "a token may not create tokens by default");

    let publisher = RoleUser::create(&server, Role::Publisher).await;
    let minting = json!({"name": "mint", "canMint": true}).to_string();
    let body = format!("name=publisher&password={}&next=", PASSWORD.replace(' ', "+"));
    let session = cookie(&server.send_raw(form("/api/fn/sign_in", &body, &[])).await);
    let request = Request::post(TOKENS).header("cookie", session).header("sec-fetch-site", "same-origin");
    let request = request.header("content-type", "application/json").body(Body::from(minting)).unwrap();
    let mint = server.send_raw(request).await.json()["token"].as_str().unwrap().to_owned();
    let above = with_token(&server, &mint, Method::POST, TOKENS, r#"{"name":"x","role":"admin"}"#).await;
    assert_eq!(above.problem(), (403, "Forbidden".to_owned()));
    assert!(above.json()["detail"].as_str().unwrap().contains("publisher"), "{}", above.text);
    let below = with_token(&server, &mint, Method::POST, TOKENS, r#"{"name":"x","role":"viewer"}"#).await;
    assert_eq!(below.json()["role"], "viewer", "{}", below.text);
    assert_eq!(publisher.role, Role::Publisher);
}

#[tokio::test]
async fn a_token_expires_within_a_year_and_belongs_to_a_project_that_exists() {
    let server = TestServer::start().await;
    let create = async |body: serde_json::Value| server.post(TOKENS, &body).await;
    assert_eq!(create(json!({"name": "ci", "days": 0})).await.problem().0, 422);
    assert_eq!(create(json!({"name": "ci", "days": 366})).await.problem().0, 422);
    assert_eq!(create(json!({"name": "ci", "project": "other"})).await.problem().0, 404);
    assert_eq!(create(json!({"name": "ci", "role": "king"})).await.problem().0, 400);
    // By a person: the token of the test server ends within a day, and so does what it creates.
    let new: domain::api_token::NewApiToken = serde_json::from_value(json!({"name": "ci"})).unwrap();
    let created = server.hub.create_token(&server.actor, &new).await.unwrap();
    let expires = created.info.expires_at.unwrap();
    let days = expires.millis_since(server.hub.clock().now()) / 86_400_000;
    assert!((29..=30).contains(&days), "{days}");
}

#[tokio::test]
async fn a_repeated_creation_answers_without_the_secret_and_says_so() {
    let server = TestServer::start().await;
    let invitation = json!({"name": "bob", "role": "viewer"});
    for (path, new, secret) in [(TOKENS, json!({"name": "ci"}), "token"), (USERS, invitation, "link")] {
        let key = [("idempotency-key", path)];
        let first = server.send_json(Method::POST, path, &key, &new).await;
        let value = first.json()[secret].as_str().unwrap().to_owned();
        let again = server.send_json(Method::POST, path, &key, &new).await;
        assert_eq!(
            (again.status, again.header("idempotency-replayed")),
            (StatusCode::CREATED, "true"),
            "{path}"
        );
        assert!(!again.text.contains(&value) && again.json()[secret].is_null(), "{}", again.text);
        assert!(again.json()["omitted"].as_str().unwrap().contains("not stored"), "{}", again.text);
    }
    assert_eq!(server.get(TOKENS).await.json().as_array().unwrap().len(), 2, "created once");
}
