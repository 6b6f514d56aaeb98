//! `/api/v1/clusters…`, `/fleet`, `/event_stream`, `/tokens`, health and metrics.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use server::SiteOptions;
use server::agents::AgentEndpoint;

use crate::sessions::{cookie, form, sign_in};
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
    let any = [("if-match", "*")];
    let owned = json!({ "owners": [" team-edge ", "ops@example.com", "team-edge"] });
    let changed = server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &any, &owned).await;
    assert_eq!(changed.json()["owners"], json!(["team-edge", "ops@example.com"]), "{}", changed.text);
    assert_eq!(server.get("/api/v1/clusters/eu-1").await.json()["owners"], changed.json()["owners"]);
    let wrong = json!({ "owners": ["a,b"] });
    let refused = server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &any, &wrong).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);

    assert_eq!(server.get("/api/v1/clusters/eu-1/releases").await.json()["total"], 0);
    assert_eq!(server.get("/api/v1/clusters/nope").await.problem(), (404, "NotFound".to_owned()));
    assert_eq!(server.get("/api/v1/fleet").await.json()["clustersTotal"], 2);
}

#[tokio::test]
async fn e_6_a_preview_of_a_cluster_checks_the_change_and_stores_nothing() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    let preview = async |cluster: &str, patch: Value| {
        server.send_json(Method::POST, &format!("/api/v1/clusters/{cluster}:preview"), &[], &patch).await
    };
    let change = json!({ "labels": { "env": null }, "taints": [{ "key": "gpu", "effect": "NoSelect" }] });
    let answer = preview("eu-1", change.clone()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.json(), json!({ "leaving": [], "removalNoticeMinutes": 15 }));
    let read = server.get("/api/v1/clusters/eu-1").await.json();
    assert_eq!((&read["labels"], &read["taints"]), (&json!({ "env": "prod" }), &json!([])));
    let invalid = preview("eu-1", json!({ "labels": { "no spaces": "x" } })).await;
    assert_eq!(invalid.problem(), (422, "Invalid".to_owned()));
    assert_eq!(invalid.json()["findings"][0]["code"], "G215");
    assert_eq!(preview("eu-9", change).await.problem(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn g111_a_cluster_with_too_many_values_or_labels_is_rejected_with_the_limit() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    let patch = async |body: Value| {
        server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &[("if-match", "*")], &body).await
    };
    let labels: serde_json::Map<String, Value> = (0..501).map(|n| (format!("k{n}"), json!("v"))).collect();
    let nested = (0..60).fold(json!(0), |inner, _| json!({ "a": inner }));
    let cases = [
        (json!({ "values": { "list": vec![nested; 20] } }), "at most 1000 are allowed"),
        (json!({ "labels": labels }), "There are 501 labels; at most 500 are allowed."),
        (json!({ "annotations": labels }), "There are 501 annotations; at most 500 are allowed."),
    ];
    for (body, expected) in cases {
        let rejected = patch(body).await;
        assert_eq!(rejected.problem(), (422, "Invalid".to_owned()), "{expected}");
        assert_eq!(rejected.json()["findings"][0]["code"], "G111");
        assert!(rejected.json()["detail"].as_str().unwrap().contains(expected), "{}", rejected.text);
    }
    let read = server.get("/api/v1/clusters/eu-1").await.json();
    assert_eq!((&read["labels"], read.get("values")), (&json!({}), None));
    assert_eq!(patch(json!({ "values": { "tier": "gold" } })).await.status, StatusCode::OK);
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
async fn g215_an_invalid_taint_is_rejected() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    for taints in [
        json!([{ "key": "no spaces", "effect": "NoSelect" }]),
        json!([{ "key": "a", "effect": "NoSelect" }, { "key": "a", "value": "b", "effect": "NoSelect" }]),
    ] {
        let patch = json!({ "taints": taints });
        let answer = server.send_json(Method::PATCH, "/api/v1/clusters/eu-1", &[], &patch).await;
        assert_eq!(answer.problem(), (422, "Invalid".to_owned()), "{taints}");
        assert_eq!(answer.json()["findings"][0]["code"], "G215");
    }
    assert_eq!(server.get("/api/v1/clusters/eu-1").await.json()["taints"], json!([]));
}

#[tokio::test]
async fn s0_3_the_console_revokes_and_deletes_a_cluster_only_for_a_user_who_confirms() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    let revoke = async |headers: &[(&str, &str)]| {
        server.send_raw(form("/api/fn/cluster_revoke", "name=eu-1", headers)).await
    };
    assert_eq!(revoke(&[]).await.status, StatusCode::UNAUTHORIZED);
    let cookie = cookie(&sign_in(&server).await);
    let headers = [("cookie", &*cookie)];
    let page = |path: &str| Request::get(path).header("cookie", &cookie).body(Body::empty()).unwrap();
    let question = server.send_raw(page("/clusters/eu-1?dialog=revoke")).await.text;
    for part in
        ["Revoke the certificates of eu-1?", "No workload has a release there.", "can't connect again"]
    {
        assert!(question.contains(part), "{part} is missing in {question}");
    }
    assert_eq!(revoke(&headers).await.status, StatusCode::OK);
    let events = server.get("/api/v1/events?limit=1").await.json();
    assert!(events["items"][0]["message"].as_str().unwrap().contains("were revoked"), "{events}");

    let delete = async |body: &str| server.send_raw(form("/api/fn/cluster_delete", body, &headers)).await;
    let mistyped = delete("name=eu-1&confirmed_name=eu-2").await;
    assert_eq!(mistyped.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(mistyped.text.contains("Type eu-1 to delete it."), "{}", mistyped.text);
    assert_eq!(delete("name=eu-1&confirmed_name=eu-1").await.status, StatusCode::OK);
    assert_eq!(server.get("/api/v1/clusters/eu-1").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn s4_7_values_are_saved_only_over_those_that_the_form_was_rendered_with() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    let cookie = cookie(&sign_in(&server).await);
    let save = async |base: &str, values: &str| {
        let body = format!("name=eu-1&base={base}&values={values}");
        server.send_raw(form("/api/fn/cluster_set_values", &body, &[("cookie", &cookie)])).await
    };
    assert_eq!(save("", "zone%3A+a%0D%0A").await.status, StatusCode::OK);
    assert_eq!(server.get("/api/v1/clusters/eu-1").await.json()["values"], json!({ "zone": "a" }));
    assert_eq!(save("", "zone%3A+b%0A").await.status, StatusCode::PRECONDITION_FAILED);
    let invalid = save("zone%3A+a%0A", "zone%3A+%5B%0A").await;
    assert_eq!(invalid.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(invalid.text.contains(", at line "), "{}", invalid.text);
    assert_eq!(save("zone%3A+%22a%22%0A", "-+1").await.status, StatusCode::UNPROCESSABLE_ENTITY, "a list");
    assert_eq!(server.get("/api/v1/clusters/eu-1").await.json()["values"], json!({ "zone": "a" }));
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
        "these tasks are not running: placer, rollouts, staleness, retention, git, incidents, deliveries, encryption, tail\n"
    );
    let metrics = server.get("/metrics").await.text;
    for line in
        ["flotilla_tasks_stopped{task=\"placer\"} 1", "flotilla_task_restarts_total{task=\"placer\"} 0"]
    {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[tokio::test]
async fn s0_16_the_manifests_of_a_cluster_are_sent_for_its_unused_join_token_only() {
    let options = |hub: hub::Hub| {
        let (authority, _) = hub::Authority::generate(hub.clock().clone()).unwrap();
        let url = "https://hub.example.com:4601".to_owned();
        let endpoint = AgentEndpoint { authority: Arc::new(authority), url };
        SiteOptions { agent_endpoint: Some(endpoint), ..SiteOptions::bare(hub) }
    };
    let server = TestServer::start_with(options).await;
    let created = server
        .send_json(Method::POST, "/api/v1/clusters/eu-1:install", &[], &json!({ "namespaces": ["shop"] }))
        .await
        .json();
    let manifest = created["manifest"].as_str().unwrap();
    let token = manifest.split_whitespace().find(|word| word.starts_with("flj_")).unwrap().to_owned();
    let read = async |path: &str, header: (&str, &str)| {
        let request = Request::get(path).header(header.0, header.1);
        server.send_raw(request.body(Body::empty()).unwrap()).await
    };
    let bearer = format!("Bearer {token}");
    let shop = "/install/eu-1?namespaces=shop";
    let sent = read(shop, ("authorization", &bearer)).await;
    assert_eq!((sent.status, sent.text.as_str()), (StatusCode::OK, manifest), "the same manifests");
    assert_eq!(sent.header("cache-control"), "no-store");
    let cookie = format!("flotilla_join={token}");
    assert_eq!(read(shop, ("cookie", &cookie)).await.text, manifest, "a download by the browser");
    let wide = read("/install/eu-1?clusterWide=true", ("authorization", &bearer)).await;
    assert!(!wide.text.contains("namespace: shop"), "{}", wide.text);

    let api_token = format!("Bearer {}", server.token);
    let wrong = bearer.replace("flj_", "flj_0");
    for (path, header) in [
        ("/install/eu-2?namespaces=shop", bearer.as_str()),
        (shop, api_token.as_str()),
        (shop, wrong.as_str()),
        (shop, "Bearer "),
    ] {
        assert_eq!(read(path, ("authorization", header)).await.problem().0, 401, "{path} {header}");
    }
    let invalid = read("/install/eu-1?namespaces=kube-system", ("authorization", &bearer)).await;
    assert_eq!(invalid.status, StatusCode::UNPROCESSABLE_ENTITY);
    let id = created["token"].as_str().unwrap();
    server.delete(&format!("/api/v1/join-tokens/{id}")).await;
    assert_eq!(read(shop, ("authorization", &bearer)).await.problem().0, 401, "it was revoked");
}

#[tokio::test]
async fn the_status_of_the_server_names_its_engine_and_its_queues() {
    let server = TestServer::start().await;
    let status = server.get("/api/v1/server-status").await.json();
    assert!(status["database"].as_str().unwrap().starts_with("SQLite 3."), "{status}");
    assert_eq!(status["queues"][0], json!({ "name": "placer", "due": 0 }));
    assert_eq!(status.get("outage"), None);
    let encryption = &status["encryption"];
    assert_eq!(
        (&encryption["dataKeys"], encryption["activeSince"].is_null()),
        (&json!(1), false),
        "{status}"
    );
    assert!(["running", "complete"].contains(&encryption["mode"].as_str().unwrap()), "{status}");
}
