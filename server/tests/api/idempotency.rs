//! `Idempotency-Key` (P2).

use axum::body::Body;
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
async fn p2_a_response_of_megabytes_is_a_success_and_is_replayed_whole() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    let mut new = new_workload("web");
    let data = "x".repeat(200_000);
    let map = |n: usize| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{n}\n  namespace: apps\ndata:\n  key: {data}\n"
        )
    };
    let text = (0..9).map(map).collect::<Vec<_>>().join("---\n");
    assert!(text.len() > 1_800_000);
    new["spec"]["source"]["files"][0]["text"] = json!(text);
    let created = server.send_json(Method::POST, WORKLOADS, &[("idempotency-key", "k-1")], &new).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text.get(..300).unwrap_or_default());
    let again = server.send_json(Method::POST, WORKLOADS, &[("idempotency-key", "k-1")], &new).await;
    assert!(again.status == created.status && again.json() == created.json());

    let published = server.post(&format!("{WORKLOADS}/web:publish"), &json!({ "message": "" })).await;
    assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
    let unpublish = format!("{WORKLOADS}/web:unpublish");
    let key = [("idempotency-key", "k-2")];
    let removed = server.send_json(Method::POST, &unpublish, &key, &json!({})).await;
    assert_eq!(removed.status, StatusCode::ACCEPTED, "{}", removed.text.get(..300).unwrap_or_default());
    let again = server.send_json(Method::POST, &unpublish, &key, &json!({})).await;
    assert!(again.status == removed.status && again.json() == removed.json());
    assert_eq!(removed.json()["intent"], "unpublished");
}

#[tokio::test]
async fn p2_every_kind_of_write_is_executed_once_per_key() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let path = format!("{WORKLOADS}/web");
    let etag = server.get(&path).await.header("etag").to_owned();
    let labels = json!({ "labels": { "team": "a" } });
    let key = [("idempotency-key", "k-1"), ("if-match", &*etag)];
    let first = server.send_json(Method::PATCH, &path, &key, &labels).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text);
    let again = server.send_json(Method::PATCH, &path, &key, &labels).await;
    assert_eq!(
        (again.status, again.json()),
        (first.status, first.json()),
        "its If-Match is outdated by itself"
    );
    let other = server.send(Method::DELETE, &path, &[("idempotency-key", "k-1")], Body::empty()).await;
    assert_eq!(other.problem(), (422, "IdempotencyKeyReused".to_owned()), "another method");
    let key = [("idempotency-key", "k-2")];
    let deleted = server.send(Method::DELETE, &path, &key, Body::empty()).await;
    let again = server.send(Method::DELETE, &path, &key, Body::empty()).await;
    assert_eq!((again.status, again.json()), (deleted.status, deleted.json()));
    assert_eq!(deleted.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn p2_a_replay_has_the_headers_of_the_first_response() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    let web = format!("{WORKLOADS}/web");
    let publish = format!("{web}:publish");
    let group = json!({ "name": "prod", "selector": "env=prod" });
    let labels = json!({ "labels": { "team": "a" } });
    let plan = format!("{web}:plan?wait=0");
    let requests = [
        (Method::POST, WORKLOADS, new_workload("web"), "etag location"),
        (Method::PATCH, &*web, labels, "etag"),
        (Method::POST, &*plan, json!({}), "location"),
        (Method::POST, &*publish, json!({ "message": "m" }), "location"),
        (Method::POST, "/api/v1/cluster-groups", group, "etag"),
    ];
    for (number, (method, path, body, names)) in requests.into_iter().enumerate() {
        let key = format!("k-{number}");
        let key = [("idempotency-key", key.as_str())];
        let first = server.send_json(method.clone(), path, &key, &body).await;
        assert!(first.status.is_success(), "{path}: {}", first.text);
        // What the first response named has a newer revision when the request is repeated.
        let newer = json!({ "labels": { "number": number.to_string() } });
        let changed = server.send_json(Method::PATCH, &web, &[], &newer).await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
        let again = server.send_json(method, path, &key, &body).await;
        assert_eq!(again.header("idempotency-replayed"), "true", "{path}: {}", again.text);
        for name in ["etag", "location", "content-type"] {
            assert_eq!(again.header(name), first.header(name), "{path}: {name}");
        }
        for name in names.split(' ') {
            assert_ne!(again.header(name), "", "{path}: {name}");
        }
        assert_eq!((again.status, again.json()), (first.status, first.json()), "{path}");
    }
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
async fn a_key_of_a_request_that_changes_nothing_stores_no_response() {
    let server = TestServer::start().await;
    let validate = format!("{WORKLOADS}:validate");
    let key = [("idempotency-key", "k-1")];
    for name in ["web", "api", "web"] {
        let answer = server.send_json(Method::POST, &validate, &key, &new_workload(name)).await;
        assert_eq!(answer.status, StatusCode::OK, "{name}: {}", answer.text);
        assert_eq!(answer.header("idempotency-replayed"), "", "{name}");
    }
    // The key is still free.
    let created = server.send_json(Method::POST, WORKLOADS, &key, &new_workload("web")).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
}
