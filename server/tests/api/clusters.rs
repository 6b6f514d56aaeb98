//! `/api/v1/clusters…`, `/fleet`, `/event_stream`, `/tokens`, health and metrics.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::test_server::TestServer;

#[tokio::test]
async fn clusters_are_listed_read_and_patched_with_their_etag() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.register_cluster("eu-2", &[("env", "dev")]).await;
    let list = server.get("/api/v1/clusters?labelSelector=env%3Dprod").await.json();
    assert_eq!((&list["total"], &list["items"][0]["name"]), (&json!(1), &json!("eu-1")));

    let read = server.get("/api/v1/clusters/eu-1").await;
    let etag = read.header("etag").to_owned();
    let patch = json!({ "labels": { "env": null, "tier": "gold" }, "schedulable": false });
    let if_match = [("if-match", &*etag)];
    let changed = server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &if_match, &patch).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    assert_eq!(
        (&changed.json()["labels"], &changed.json()["schedulable"]),
        (&json!({"tier": "gold"}), &json!(false))
    );
    let late = server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &if_match, &patch).await;
    assert_eq!(late.problem(), (412, "RevisionConflict".to_owned()));

    assert_eq!(server.get("/api/v1/clusters/eu-1/releases").await.json()["total"], 0);
    assert_eq!(server.get("/api/v1/clusters/nope").await.problem(), (404, "NotFound".to_owned()));
    assert_eq!(server.get("/api/v1/fleet").await.json()["clustersTotal"], 2);
}

#[tokio::test]
async fn g215_an_invalid_label_is_rejected() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    let patch = json!({ "labels": { "no spaces": "x" } });
    let answer = server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &[], &patch).await;
    assert_eq!(answer.problem(), (422, "Invalid".to_owned()));
    assert_eq!(answer.json()["findings"][0]["code"], "G215");
}

#[tokio::test]
async fn faults_can_be_injected_only_in_the_demo() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    let answer = server.post("/api/v1/clusters/eu-1/demo:injectFault", &json!({ "type": "offline" })).await;
    assert_eq!(answer.problem(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn events_are_paged_newest_first() {
    let server = TestServer::start().await;
    for name in ["a", "b", "c"] {
        server.create_workload(name).await;
    }
    let first = server.get("/api/v1/events?limit=2").await.json();
    let names = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|event| event["workloadName"].clone()).collect()
    };
    assert_eq!(names(&first), ["c", "b"]);
    let rest = server.get(&format!("/api/v1/events?limit=2&before={}", first["next"])).await.json();
    assert_eq!((names(&rest), &rest["next"]), (vec![json!("a")], &Value::Null));
    assert_eq!(names(&server.get("/api/v1/events?workload=b").await.json()), ["b"]);
    assert_eq!(server.get("/api/v1/events?limit=0").await.problem().0, 400);
}

#[tokio::test]
async fn an_api_token_is_created_used_and_revoked() {
    let server = TestServer::start().await;
    let created = server.post("/api/v1/tokens", &json!({ "name": "ci", "days": 30 })).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let secret = created.json()["secret"].as_str().unwrap().to_owned();
    let with = |secret: &str| {
        let request = Request::get("/api/v1/tokens").header("authorization", format!("Bearer {secret}"));
        server.send_raw(request.body(Body::empty()).unwrap())
    };
    let list = with(&secret).await;
    assert_eq!(list.json().as_array().unwrap().len(), 2);
    assert!(!list.text.contains(&secret[8..]), "a list shows no secrets");
    let id = created.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.delete(&format!("/api/v1/tokens/{id}")).await.status, StatusCode::NO_CONTENT);
    assert_eq!(with(&secret).await.problem(), (401, "Unauthenticated".to_owned()));
    assert_eq!(server.delete("/api/v1/tokens/nonsense").await.problem().0, 404);
    let endless = server.post("/api/v1/tokens", &json!({ "name": "ci", "days": 9999 })).await;
    assert_eq!(endless.problem(), (422, "Invalid".to_owned()));
}

#[tokio::test]
async fn health_is_public_and_metrics_need_a_token() {
    let server = TestServer::start().await;
    for path in ["/livez", "/healthz", "/readyz", "/version"] {
        let answer = server.send_raw(Request::get(path).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
    }
    let metrics = server.get("/metrics").await;
    assert!(metrics.header("content-type").starts_with("application/openmetrics-text"));
    for name in
        ["flotilla_http_requests_total", "flotilla_releases{state=\"Healthy\"}", "flotilla_sse_clients"]
    {
        assert!(metrics.text.contains(name), "{name}\n{}", metrics.text);
    }
    assert!(metrics.text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn a_server_without_running_loops_is_alive_but_not_ready() {
    let server = TestServer::start_with(server::SiteOptions::bare).await;
    let loops = server.hub.spawn_loops();
    while server.get("/readyz").await.status != StatusCode::OK {
        tokio::task::yield_now().await;
    }
    loops.stop().await;
    assert_eq!(server.get("/livez").await.status, StatusCode::OK);
    let answer = server.get("/readyz").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        answer.text,
        "these tasks are not running: placer, rollouts, staleness, retention, git, tail\n"
    );
    let metrics = server.get("/metrics").await.text;
    for line in
        ["flotilla_tasks_stopped{task=\"placer\"} 1", "flotilla_task_restarts_total{task=\"placer\"} 0"]
    {
        assert!(metrics.contains(line), "{metrics}");
    }
}
