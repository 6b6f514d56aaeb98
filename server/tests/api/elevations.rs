//! Higher roles of users until a time.

use axum::http::{Method, StatusCode};
use domain::role::Role;
use serde_json::{Value, json};

use crate::credentials::send_as;
use crate::identity_providers::SignInTest;
use crate::roles::RoleUser;
use crate::sessions::form;
use crate::test_server::{WORKLOADS, new_workload};
use crate::watch::{open_as, read_to_end};

const ELEVATION: &str = "/api/v1/users/viewer/elevation";

#[tokio::test]
async fn a_higher_role_counts_until_its_time_or_its_end_and_for_no_token_with_a_lower_one() {
    let test = SignInTest::start().await;
    let server = &test.server;
    let bob = RoleUser::create(server, Role::Viewer).await;
    let role = async || test.role(&bob.cookie).await.unwrap();
    let elevate = async |body: Value| server.send_json(Method::PUT, ELEVATION, &[], &body).await;
    let listed = async || {
        let users = server.get("/api/v1/users").await.json();
        users.as_array().unwrap().iter().find(|user| user["name"] == "viewer").unwrap().clone()
    };
    assert_eq!((role().await.as_str(), &listed().await["elevation"]), ("viewer", &Value::Null));
    let new = json!({"role": "publisher", "minutes": 60, "reason": "on call"});
    let elevated = elevate(new.clone()).await;
    assert_eq!(
        (elevated.status, &elevated.json()["role"]),
        (StatusCode::OK, &json!("viewer")),
        "{}",
        elevated.text
    );
    assert_eq!(elevated.json()["elevation"]["role"], "publisher");
    assert_eq!(
        (role().await.as_str(), &listed().await["elevation"]["reason"]),
        ("publisher", &json!("on call"))
    );
    let created = bob.send(server, &Method::POST, WORKLOADS, &new_workload("web").to_string()).await;
    assert_eq!(created.status, StatusCode::FORBIDDEN, "the token has the role viewer");

    test.advance(3_500);
    assert_eq!(role().await, "publisher");
    test.advance(101);
    assert_eq!(
        (role().await.as_str(), &listed().await["elevation"]),
        ("viewer", &Value::Null),
        "it ends by itself"
    );

    assert_eq!(elevate(new).await.status, StatusCode::OK);
    assert_eq!(role().await, "publisher");
    assert_eq!(server.delete(ELEVATION).await.status, StatusCode::NO_CONTENT);
    assert_eq!(role().await, "viewer");
    assert_eq!(server.delete(ELEVATION).await.problem().0, 404);
    let log = server.get("/api/v1/audit?action=manage-users").await;
    assert!(log.text.contains("viewer has the role publisher for 60 minutes: on call"), "{}", log.text);
}

#[tokio::test]
async fn nobody_is_elevated_to_admin_to_no_higher_role_without_a_reason_or_without_an_end() {
    let test = SignInTest::start().await;
    RoleUser::create(&test.server, Role::Viewer).await;
    let elevate = async |path: &str, role: &str, minutes: i64, reason: &str| {
        let body = json!({"role": role, "minutes": minutes, "reason": reason});
        test.server.send_json(Method::PUT, path, &[], &body).await.problem().0
    };
    for (role, minutes, reason) in [
        ("admin", 60, "on call"),
        ("viewer", 60, "on call"),
        ("editor", 0, "on call"),
        ("editor", 1_441, "on call"),
        ("editor", 60, " "),
        ("editor", 60, "two\nlines"),
    ] {
        assert_eq!(elevate(ELEVATION, role, minutes, reason).await, 422, "{role} {minutes} {reason}");
    }
    assert_eq!(elevate(ELEVATION, "king", 60, "on call").await, 400);
    assert_eq!(elevate("/api/v1/users/nobody/elevation", "editor", 60, "on call").await, 404);
}

#[tokio::test]
async fn a_token_that_was_created_meanwhile_has_the_lower_role_afterwards() {
    let test = SignInTest::start().await;
    let bob = RoleUser::create(&test.server, Role::Viewer).await;
    let new = json!({"role": "publisher", "minutes": 60, "reason": "on call"});
    assert_eq!(test.server.send_json(Method::PUT, ELEVATION, &[], &new).await.status, StatusCode::OK);
    let fields = "name=kept&days=7&role=publisher";
    let created = form("/api/fn/token_create", fields, &[("cookie", bob.cookie.as_str())]);
    let created = test.server.send_raw(created).await;
    assert_eq!(created.status, StatusCode::OK, "{}", created.text);
    let secret = created.json().as_str().unwrap().to_owned();
    let create = async |name: &str| {
        send_as(&test.server, &secret, Method::POST, WORKLOADS, &new_workload(name)).await.status
    };
    assert_eq!(create("web").await, StatusCode::CREATED);
    test.advance(3_601);
    assert_eq!(create("shop").await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn another_role_and_a_disable_end_an_elevation() {
    let test = SignInTest::start().await;
    let server = &test.server;
    let bob = RoleUser::create(server, Role::Editor).await;
    let put = async |path: &str, body: Value| {
        server.send_json(Method::PUT, &format!("/api/v1/users/editor/{path}"), &[], &body).await
    };
    let new = json!({"role": "publisher", "minutes": 60, "reason": "on call"});
    assert_eq!(put("elevation", new.clone()).await.status, StatusCode::OK);
    let same = put("role", json!({"role": "editor"})).await.json();
    assert_eq!(same["elevation"]["role"], "publisher", "nothing was changed: {same}");
    assert_eq!(test.role(&bob.cookie).await.as_deref(), Some("publisher"));
    let lowered = put("role", json!({"role": "viewer"})).await.json();
    assert_eq!(lowered.get("elevation"), None, "{lowered}");
    assert_eq!(test.role(&bob.cookie).await.as_deref(), Some("viewer"));

    assert_eq!(put("elevation", new.clone()).await.status, StatusCode::OK);
    assert_eq!(server.post("/api/v1/users/editor:disable", &json!({})).await.status, StatusCode::OK);
    assert_eq!(put("elevation", new).await.problem().0, 422, "a disabled user has no role");
    let enabled = server.post("/api/v1/users/editor:enable", &json!({})).await;
    assert_eq!(enabled.json().get("elevation"), None, "{}", enabled.text);
    let users = server.get("/api/v1/users").await.json();
    assert!(users.as_array().unwrap().iter().all(|user| user.get("elevation").is_none()), "{users}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_opened_with_a_higher_role_ends_with_it() {
    let test = SignInTest::start().await;
    let server = &test.server;
    let (bob, other) =
        (RoleUser::create(server, Role::Viewer).await, RoleUser::create(server, Role::Editor).await);
    let new = json!({"role": "publisher", "minutes": 60, "reason": "on call"});
    assert_eq!(server.send_json(Method::PUT, ELEVATION, &[], &new).await.status, StatusCode::OK);
    let stream = open_as(server, ("cookie", &bob.cookie)).await;
    test.advance(3_601);
    // Streams verify their credentials every 20 seconds, and at once when the server ends any.
    let tokens = server.hub.list_tokens(&other.actor).await.unwrap();
    server.hub.delete_token(&other.actor, tokens[0].id).await.unwrap();
    read_to_end(stream).await;
}
