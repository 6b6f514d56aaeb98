//! `Idempotency-Key` (P2).

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::test_server::{TestServer, WORKLOADS, new_workload};

#[tokio::test]
async fn p2_a_repeated_publish_is_executed_once_and_its_response_replayed() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.create_workload("web").await;
    let publish = format!("{WORKLOADS}/web:publish");
    let key = [("idempotency-key", "k-1")];
    let first = server.send_json(Method::POST, &publish, &key, &json!({ "message": "m" })).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{}", first.text);
    for _ in 0..10 {
        let again = server.send_json(Method::POST, &publish, &key, &json!({ "message": "m" })).await;
        assert_eq!((again.status, again.json()), (first.status, first.json()));
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
    assert_eq!(server.get(&format!("{WORKLOADS}/web/revisions")).await.json()["total"], 1);
}

#[tokio::test]
async fn p2_a_key_of_another_request_is_rejected() {
    let server = TestServer::start().await;
    let key = [("idempotency-key", "k-1")];
    let created = server.send_json(Method::POST, WORKLOADS, &key, &new_workload("web")).await;
    assert_eq!(created.status, StatusCode::CREATED);
    let other = server.send_json(Method::POST, WORKLOADS, &key, &new_workload("api")).await;
    assert_eq!(other.problem(), (422, "IdempotencyKeyReused".to_owned()));
    assert_eq!(server.get(WORKLOADS).await.json()["total"], 1);
}

#[tokio::test]
async fn p2_a_rejection_is_replayed_too() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let key = [("idempotency-key", "k-1")];
    let first = server.send_json(Method::POST, WORKLOADS, &key, &new_workload("web")).await;
    let again = server.send_json(Method::POST, WORKLOADS, &key, &new_workload("web")).await;
    assert_eq!(first.problem(), (409, "AlreadyExists".to_owned()));
    assert_eq!((again.problem(), again.header("idempotency-replayed")), (first.problem(), "true"));
}

#[tokio::test]
async fn a_key_must_be_visible_ascii_and_short() {
    let server = TestServer::start().await;
    for key in ["", "with space", &"k".repeat(201)] {
        let answer = server
            .send_json(Method::POST, WORKLOADS, &[("idempotency-key", key)], &new_workload("web"))
            .await;
        assert_eq!(answer.problem(), (400, "BadRequest".to_owned()), "{key:?}");
    }
}

#[tokio::test]
async fn the_secret_of_a_token_is_not_stored_for_replay() {
    let server = TestServer::start().await;
    let key = [("idempotency-key", "k-1")];
    let new = json!({ "name": "ci", "days": 1 });
    let first = server.send_json(Method::POST, "/api/v1/tokens", &key, &new).await;
    let again = server.send_json(Method::POST, "/api/v1/tokens", &key, &new).await;
    assert_eq!(first.status, StatusCode::CREATED, "{}", first.text);
    assert_ne!(first.json()["secret"], again.json()["secret"]);
}
