//! `/api/v1/clusters…`, `/fleet`, `/events`, `/tokens`, health and metrics.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn clusters_are_listed_read_and_changed_under_their_etag() {
    let house = House::new().await;
    house.cluster("eu-1", &[("env", "prod")]).await;
    house.cluster("eu-2", &[("env", "dev")]).await;
    let list = house.get("/api/v1/clusters?labelSelector=env%3Dprod").await.json();
    assert_eq!((&list["total"], &list["items"][0]["name"]), (&json!(1), &json!("eu-1")));

    let read = house.get("/api/v1/clusters/eu-1").await;
    let etag = read.header("etag").to_owned();
    let patch = json!({ "labels": { "env": null, "tier": "gold" }, "schedulable": false });
    let seen = [("if-match", &*etag)];
    let changed = house.json(Method::PATCH, "/api/v1/clusters/eu-1", &seen, &patch).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    assert_eq!(
        (&changed.json()["labels"], &changed.json()["schedulable"]),
        (&json!({"tier": "gold"}), &json!(false))
    );
    let late = house.json(Method::PATCH, "/api/v1/clusters/eu-1", &seen, &patch).await;
    assert_eq!(late.problem(), (412, "Changed".to_owned()));

    assert_eq!(house.get("/api/v1/clusters/eu-1/releases").await.json()["total"], 0);
    assert_eq!(house.get("/api/v1/clusters/nope").await.problem(), (404, "NotFound".to_owned()));
    assert_eq!(house.get("/api/v1/fleet").await.json()["clustersTotal"], 2);
}

#[tokio::test]
async fn g215_a_label_that_is_none_is_refused() {
    let house = House::new().await;
    house.cluster("eu-1", &[]).await;
    let patch = json!({ "labels": { "no spaces": "x" } });
    let answer = house.json(Method::PATCH, "/api/v1/clusters/eu-1", &[], &patch).await;
    assert_eq!(answer.problem(), (422, "Invalid".to_owned()));
    assert_eq!(answer.json()["findings"][0]["code"], "G215");
}

#[tokio::test]
async fn nothing_can_be_broken_where_there_is_no_demo() {
    let house = House::new().await;
    house.cluster("eu-1", &[]).await;
    let answer = house.post("/api/v1/clusters/eu-1/demo:break", &json!({ "type": "offline" })).await;
    assert_eq!(answer.problem(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn events_are_read_backwards_page_by_page() {
    let house = House::new().await;
    for name in ["a", "b", "c"] {
        house.workload(name).await;
    }
    let first = house.get("/api/v1/events?limit=2").await.json();
    let names = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|event| event["workloadName"].clone()).collect()
    };
    assert_eq!(names(&first), ["c", "b"]);
    let rest = house.get(&format!("/api/v1/events?limit=2&before={}", first["next"])).await.json();
    assert_eq!((names(&rest), &rest["next"]), (vec![json!("a")], &Value::Null));
    assert_eq!(names(&house.get("/api/v1/events?workload=b").await.json()), ["b"]);
    assert_eq!(house.get("/api/v1/events?limit=0").await.problem().0, 400);
}

#[tokio::test]
async fn a_token_is_made_used_and_ended() {
    let house = House::new().await;
    let made = house.post("/api/v1/tokens", &json!({ "name": "ci", "days": 30 })).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    let with = |secret: &str| {
        let request = Request::get("/api/v1/tokens").header("authorization", format!("Bearer {secret}"));
        house.raw(request.body(Body::empty()).unwrap())
    };
    let list = with(&secret).await;
    assert_eq!(list.json().as_array().unwrap().len(), 2);
    assert!(!list.text.contains(&secret[8..]), "a list shows no secrets");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(house.delete(&format!("/api/v1/tokens/{id}")).await.status, StatusCode::NO_CONTENT);
    assert_eq!(with(&secret).await.problem(), (401, "Unauthenticated".to_owned()));
    assert_eq!(house.delete("/api/v1/tokens/nonsense").await.problem().0, 404);
    let endless = house.post("/api/v1/tokens", &json!({ "name": "ci", "days": 9999 })).await;
    assert_eq!(endless.problem(), (422, "Invalid".to_owned()));
}

#[tokio::test]
async fn health_is_told_to_everybody_and_numbers_to_who_has_a_token() {
    let house = House::new().await;
    for path in ["/livez", "/healthz", "/readyz", "/version"] {
        let answer = house.raw(Request::get(path).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
    }
    let numbers = house.get("/metrics").await;
    assert!(numbers.header("content-type").starts_with("application/openmetrics-text"));
    for name in
        ["flotilla_http_requests_total", "flotilla_releases{state=\"Healthy\"}", "flotilla_sse_clients"]
    {
        assert!(numbers.text.contains(name), "{name}\n{}", numbers.text);
    }
    assert!(numbers.text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn a_server_whose_loops_have_ended_is_alive_but_not_ready() {
    let house = House::with(|hub| server::Options {
        loops_alive: std::sync::Arc::new(|| false),
        ..server::Options::bare(hub)
    })
    .await;
    assert_eq!(house.get("/livez").await.status, StatusCode::OK);
    assert_eq!(house.get("/readyz").await.status, StatusCode::SERVICE_UNAVAILABLE);
}
