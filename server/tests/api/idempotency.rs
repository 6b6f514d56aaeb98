//! `Idempotency-Key` (P2).

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::house::{House, WORKLOADS, new_workload};

#[tokio::test]
async fn p2_a_repeated_publish_is_carried_out_once_and_answered_the_same() {
    let house = House::new().await;
    house.cluster("eu-1", &[("env", "prod")]).await;
    house.workload("web").await;
    let publish = format!("{WORKLOADS}/web:publish");
    let key = [("idempotency-key", "k-1")];
    let first = house.json(Method::POST, &publish, &key, &json!({ "message": "m" })).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{}", first.text);
    for _ in 0..10 {
        let again = house.json(Method::POST, &publish, &key, &json!({ "message": "m" })).await;
        assert_eq!((again.status, again.json()), (first.status, first.json()));
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
    assert_eq!(house.get(&format!("{WORKLOADS}/web/revisions")).await.json()["total"], 1);
}

#[tokio::test]
async fn p2_a_key_of_another_request_is_refused() {
    let house = House::new().await;
    let key = [("idempotency-key", "k-1")];
    let made = house.json(Method::POST, WORKLOADS, &key, &new_workload("web")).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let other = house.json(Method::POST, WORKLOADS, &key, &new_workload("api")).await;
    assert_eq!(other.problem(), (422, "KeyReused".to_owned()));
    assert_eq!(house.get(WORKLOADS).await.json()["total"], 1);
}

#[tokio::test]
async fn p2_a_refusal_is_repeated_too() {
    let house = House::new().await;
    house.workload("web").await;
    let key = [("idempotency-key", "k-1")];
    let first = house.json(Method::POST, WORKLOADS, &key, &new_workload("web")).await;
    let again = house.json(Method::POST, WORKLOADS, &key, &new_workload("web")).await;
    assert_eq!(first.problem(), (409, "Exists".to_owned()));
    assert_eq!((again.problem(), again.header("idempotency-replayed")), (first.problem(), "true"));
}

#[tokio::test]
async fn a_key_must_be_readable_and_short() {
    let house = House::new().await;
    for key in ["", "with space", &"k".repeat(201)] {
        let answer =
            house.json(Method::POST, WORKLOADS, &[("idempotency-key", key)], &new_workload("web")).await;
        assert_eq!(answer.problem(), (400, "BadRequest".to_owned()), "{key:?}");
    }
}

#[tokio::test]
async fn the_secret_of_a_token_is_not_kept_for_repetition() {
    let house = House::new().await;
    let key = [("idempotency-key", "k-1")];
    let new = json!({ "name": "ci", "days": 1 });
    let first = house.json(Method::POST, "/api/v1/tokens", &key, &new).await;
    let again = house.json(Method::POST, "/api/v1/tokens", &key, &new).await;
    assert_eq!(first.status, StatusCode::CREATED, "{}", first.text);
    assert_ne!(first.json()["secret"], again.json()["secret"]);
}
