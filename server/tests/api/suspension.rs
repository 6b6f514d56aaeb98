//! Suspensions over REST: of workloads, of workloads on one cluster, and of clusters (docs/suspension.md).

use axum::http::{Method, StatusCode};
use domain::role::Role;
use serde_json::json;

use crate::roles::RoleUser;
use crate::test_server::{TestServer, WORKLOADS};

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_a_workload_and_a_cluster_are_suspended_with_a_reason_and_resumed() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.create_workload("web").await;
    let web = format!("{WORKLOADS}/web");
    let none = server.get(&format!("{web}/suspension")).await;
    assert_eq!((none.status, none.json()), (StatusCode::OK, json!({"effects": [], "more": 0})));
    for body in [json!({}), json!({"reason": " "}), json!({"reason": "a\nb"})] {
        let refused = server.post(&format!("{web}:suspend"), &body).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
        assert_eq!(refused.json()["findings"][0]["path"], "/reason", "{}", refused.text);
    }
    let misspelt = server.post(&format!("{web}:suspend"), &json!({"reason": "a", "cluster": "eu-1"})).await;
    assert!(misspelt.status.is_client_error() && misspelt.text.contains("cluster"), "{}", misspelt.text);

    let suspended = server.post(&format!("{web}:suspend"), &json!({"reason": "handover"})).await;
    assert_eq!(suspended.status, StatusCode::OK, "{}", suspended.text);
    let suspension = suspended.json()["suspension"].clone();
    assert_eq!((&suspension["reason"], &suspension["scope"]), (&json!("handover"), &json!("workload")));
    assert!(suspension["since"].is_string() && suspension["by"].is_string(), "{suspension}");
    assert_eq!(server.get(&web).await.json()["suspension"], suspension);
    assert_eq!(server.get(WORKLOADS).await.json()["items"][0]["suspension"], suspension);

    let cluster = "/api/v1/clusters/eu-1";
    let body = json!({"reason": "new disks"});
    let suspended = server.post(&format!("{cluster}:suspend"), &body).await;
    assert_eq!(suspended.status, StatusCode::OK, "{}", suspended.text);
    assert_eq!(server.get(cluster).await.json()["suspension"]["reason"], "new disks");
    let listed = server.get("/api/v1/clusters").await.json();
    assert_eq!(listed["items"][0]["suspension"]["scope"], "cluster", "{listed}");
    let unknown = server.post("/api/v1/clusters/eu-9:suspend", &body).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let checked = server.post(&format!("{web}:publish"), &json!({})).await;
    let findings = checked.json()["findings"].clone();
    let is_warning = |finding: &&serde_json::Value| finding["code"] == "Suspended";
    let warning = findings.as_array().unwrap().iter().find(is_warning);
    assert_eq!(warning.unwrap()["clusters"], json!(["eu-1"]), "{findings}");

    for path in [format!("{web}:resume"), format!("{cluster}:resume")] {
        assert_eq!(server.post(&path, &json!({})).await.status, StatusCode::OK, "{path}");
        let again = server.post(&path, &json!({})).await;
        assert!(again.status.is_client_error() && again.text.contains("is not suspended"), "{}", again.text);
    }
    assert!(server.get(cluster).await.json()["suspension"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_an_editor_may_see_a_suspension_and_a_publisher_may_end_it() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let (editor, publisher) =
        (RoleUser::create(&server, Role::Editor).await, RoleUser::create(&server, Role::Publisher).await);
    let path = format!("{WORKLOADS}/web:suspend");
    let body = r#"{"reason": "handover"}"#;
    let refused = editor.send(&server, &Method::POST, &path, body).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.text.contains("To suspend and resume workloads and clusters"), "{}", refused.text);
    let suspended = publisher.send(&server, &Method::POST, &path, body).await;
    assert_eq!(suspended.status, StatusCode::OK, "{}", suspended.text);
    let seen = editor.send(&server, &Method::GET, &format!("{WORKLOADS}/web/suspension"), "").await;
    assert_eq!(seen.json()["suspension"]["by"], "publisher", "{}", seen.text);
    let audit = server.get("/api/v1/audit?limit=20").await.json();
    let is_entry = |entry: &&serde_json::Value| entry["action"] == "suspend" && entry["actor"] == "publisher";
    assert!(audit["items"].as_array().unwrap().iter().any(|entry| is_entry(&entry)), "{audit}");
}
