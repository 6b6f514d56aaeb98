//! The audit log: what is recorded of requests, and its verification and export.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use domain::audit::{AuditEntry, AuditHead};
use domain::role::Role;
use domain::server_status::AuditFileStatus;
use serde_json::{Value, json};

use crate::roles::RoleUser;
use crate::sessions::{cookie, form, sign_in};
use crate::test_server::{TestServer, WORKLOADS, new_workload};

/// The entries of a query, oldest first.
async fn list(server: &TestServer, query: &str) -> Vec<Value> {
    let page = server.get(&format!("/api/v1/audit?{query}")).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let mut items = page.json()["items"].as_array().unwrap().clone();
    items.reverse();
    items
}

#[tokio::test]
async fn the_user_whom_the_server_creates_when_it_starts_is_the_first_entry() {
    let server = TestServer::start().await;
    let entries = list(&server, "actor=flotilla").await;
    assert_eq!((&entries[0]["seq"], &entries[0]["subject"]), (&json!(1), &json!("user ada")), "{entries:?}");
}

#[tokio::test]
async fn a_change_is_recorded_with_user_credential_address_and_request_and_its_failure_is_not() {
    let server = TestServer::start().await;
    let create = async || {
        let id = [("x-request-id", "req-7")];
        server.send_json(Method::POST, WORKLOADS, &id, &new_workload("shop")).await
    };
    let created = create().await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    assert_eq!(create().await.status, StatusCode::CONFLICT);
    let entries = list(&server, "action=edit").await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = &entries[0];
    assert_eq!((&entry["actor"], &entry["outcome"]), (&json!("ada"), &json!("succeeded")));
    assert_eq!((&entry["requestId"], &entry["subject"]), (&json!("req-7"), &json!("workload shop")));
    assert!(entry["credential"].as_str().unwrap().starts_with("token "), "{entry}");
    assert!(!entry["address"].as_str().unwrap().is_empty() && !entry["message"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn denied_requests_and_sign_ins_are_recorded_without_flooding_the_log() {
    let server = TestServer::start().await;
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    for _ in 0..3 {
        let denied = viewer.send(&server, &Method::POST, WORKLOADS, &new_workload("shop").to_string()).await;
        assert_eq!(denied.status, StatusCode::FORBIDDEN);
    }
    let denied = list(&server, "outcome=denied").await;
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!((&denied[0]["actor"], &denied[0]["action"]), (&json!("viewer"), &json!("edit")));
    assert!(denied[0]["subject"].as_str().unwrap().starts_with("POST /api/v1/projects/"), "{denied:?}");

    for _ in 0..2 {
        let wrong = server.send_raw(form("/api/fn/sign_in", "name=viewer&password=wrong&next=", &[])).await;
        assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    }
    let sign_ins = list(&server, "action=sign-in&actor=viewer").await;
    let outcomes: Vec<&str> = sign_ins.iter().map(|entry| entry["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["succeeded", "failed"], "{sign_ins:?}");
    let set = list(&server, "action=set-password&actor=viewer").await;
    assert_eq!((set.len(), &set[0]["address"]), (1, &json!("127.0.0.1")), "{set:?}");
    assert!(!serde_json::to_string(&sign_ins).unwrap().contains("wrong\""), "no password");

    let reading = viewer.send(&server, &Method::GET, "/api/v1/audit", "").await;
    assert_eq!(reading.status, StatusCode::FORBIDDEN, "only admins read the log");
}

#[tokio::test]
async fn the_log_is_verified_and_exported_in_both_formats() {
    let server = TestServer::start().await;
    for name in ["one", "two", "three"] {
        server.create_workload(name).await;
    }
    let verified = server.get("/api/v1/audit/verification").await.json();
    assert_eq!(verified["broken"], Value::Null, "{verified}");
    let export = server.get("/api/v1/audit/export?after=1").await;
    assert_eq!(export.header("content-type"), "application/jsonl");
    let first: AuditEntry = serde_json::from_str(export.text.lines().next().unwrap()).unwrap();
    assert_eq!(first.seq, 2);
    let whole = server.get("/api/v1/audit/export").await.text;
    let mut head = AuditHead::default();
    for line in whole.lines() {
        head.advance(&serde_json::from_str(line).unwrap()).unwrap();
    }
    assert_eq!(
        (json!(head.seq), json!(head.hash)),
        (verified["head"]["seq"].clone(), verified["head"]["hash"].clone())
    );
    let ocsf = server.get("/api/v1/audit/export?format=ocsf").await.text;
    let events: Vec<Value> = ocsf.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["metadata"]["sequence"], json!(head.seq));
    assert_eq!(events.last().unwrap()["class_uid"], 6003);
    let end = server.get(&format!("/api/v1/audit/export?after={}", head.seq)).await;
    assert_eq!((end.status, &*end.text), (StatusCode::OK, ""));
    assert_eq!(server.get("/api/v1/audit?outcome=lost").await.problem().0, 400);
}

#[tokio::test]
async fn the_status_of_the_server_has_how_far_the_file_of_the_log_is_and_why_it_stopped() {
    let server = TestServer::start().await;
    assert_eq!(server.get("/api/v1/server-status").await.json()["auditFile"], Value::Null, "it writes none");
    let problem = "The audit log is not appended to its file: no space left.";
    server.hub.set_audit_file(AuditFileStatus { position: 7, behind: 2, problem: Some(problem.to_owned()) });
    let status = server.get("/api/v1/server-status").await.json();
    assert_eq!(status["auditFile"], json!({"position": 7, "behind": 2, "problem": problem}));
    let metrics = server.get("/metrics").await.text;
    for line in
        ["flotilla_audit_file_position 7", "flotilla_audit_file_behind 2", "flotilla_audit_file_blocked 1"]
    {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let admin = cookie(&sign_in(&server).await);
    let page = Request::get("/settings?tab=health").header("cookie", admin).header("accept", "text/html");
    let page = server.send_raw(page.body(Body::empty()).unwrap()).await;
    assert!(page.text.contains("stopped at entry 7") && page.text.contains(problem), "{}", page.text);
}
