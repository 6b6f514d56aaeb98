//! Policies that only an admin may set, over every way in which they reach a draft or a revision.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use domain::role::Role;
use domain::workload::{Policies, Source, SourceFile, WorkloadSpec};
use hub::{DraftPatch, Error, PublishContent, PublishOptions};
use serde_json::{Value, json};

use crate::roles::RoleUser;
use crate::test_server::{TestResponse, TestServer, WORKLOADS, new_workload};

/// A `ManifestWork` that names a service account.
const WORK: &str = "apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: web, namespace: cluster1}
spec:
  executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: apps, name: deployer}}}
  workload:
    manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: apps}}
";

fn executor(name: &str) -> Value {
    json!({ "executor": format!("apps/{name}") })
}

/// `web` with these policies.
fn with_policies(policies: &Value) -> Value {
    let mut new = new_workload("web");
    new["spec"]["policies"] = policies.clone();
    new
}

/// `web` with the source that names a service account.
fn with_manifest_work() -> Value {
    let mut new = new_workload("web");
    new["spec"]["source"]["files"][0]["text"] = WORK.into();
    new
}

/// Sends a `PUT`, whatever the revision is.
async fn put_json(server: &TestServer, user: &RoleUser, path: &str, body: &Value) -> TestResponse {
    let request = Request::put(path).header("content-type", "application/json").header("if-match", "*");
    let request = request.header("authorization", format!("Bearer {}", user.token));
    server.send_raw(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn put(server: &TestServer, user: &RoleUser, new: &Value) -> TestResponse {
    put_json(server, user, &format!("{WORKLOADS}/web"), &json!({ "spec": new["spec"] })).await
}

async fn publish(server: &TestServer, user: &RoleUser, body: &Value) -> TestResponse {
    user.send(server, &Method::POST, &format!("{WORKLOADS}/web:publish"), &body.to_string()).await
}

fn assert_refused(answer: &TestResponse, action: &str, way: &str) {
    assert_eq!(answer.problem(), (403, "Forbidden".to_owned()), "{way}: {}", answer.text);
    assert_eq!(answer.json()["action"], action, "{way}");
}

fn assert_forbidden<T: std::fmt::Debug>(result: Result<T, Error>, action: &str, way: &str) {
    match result {
        Err(Error::Forbidden(denied)) => assert_eq!(denied.action.as_str(), action, "{way}"),
        other => panic!("{way}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_admin_sets_a_policy_of_admins_whatever_the_way() {
    let server = TestServer::start().await;
    let editor = RoleUser::create(&server, Role::Editor).await;
    let publisher = RoleUser::create(&server, Role::Publisher).await;
    let cases = [
        (executor("deployer"), "set-executor"),
        (json!({ "allowSystemNamespaces": true }), "allow-system-namespaces"),
    ];
    for (policies, action) in &cases {
        let created = with_policies(policies).to_string();
        let answer = editor.send(&server, &Method::POST, WORKLOADS, &created).await;
        assert_refused(&answer, action, "create");
    }
    let created = with_manifest_work().to_string();
    let answer = editor.send(&server, &Method::POST, WORKLOADS, &created).await;
    assert_refused(&answer, "set-executor", "create with a ManifestWork");

    server.create_workload("web").await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    assert_refused(&put(&server, &editor, &with_manifest_work()).await, "set-executor", "ManifestWork");
    let file = SourceFile { name: "work.yaml".to_owned(), text: WORK.to_owned() };
    let source = Source::Yaml { files: vec![file] };
    let imported = DraftPatch { source: Some(source), ..DraftPatch::default() };
    let edited = server.hub.change_draft(&editor.actor, "web", imported, 1).await;
    assert_forbidden(edited, "set-executor", "a part of the draft with a ManifestWork");
    for (policies, action) in &cases {
        assert_refused(&put(&server, &editor, &with_policies(policies)).await, action, "PUT");
        let body = json!({ "policies": policies }).to_string();
        let patched = editor.send(&server, &Method::PATCH, &format!("{WORKLOADS}/web"), &body).await;
        assert_eq!(patched.problem().0, 400, "PATCH has no policies: {}", patched.text);
        let parsed: Policies = serde_json::from_value(policies.clone()).unwrap();
        let patch = DraftPatch { policies: Some(parsed), ..DraftPatch::default() };
        let edited = server.hub.change_draft(&editor.actor, "web", patch, 1).await;
        assert_forbidden(edited, action, "a part of the draft");
        let spec: WorkloadSpec = serde_json::from_value(with_policies(policies)["spec"].clone()).unwrap();
        let content = PublishContent::Spec(Box::new(spec));
        let options = PublishOptions { content, ..PublishOptions::default() };
        let published = server.hub.publish_workload(&publisher.actor, "web", "", options).await;
        assert_forbidden(published, action, "a publish with another draft");
    }
    let stored = server.hub.get_workload("web").await.unwrap().workload;
    assert_eq!((stored.revision, stored.published), (1, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_that_an_admin_has_set_stays_for_others_and_no_earlier_revision_brings_another_one() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    let admin = RoleUser::create(&server, Role::Admin).await;
    let publisher = RoleUser::create(&server, Role::Publisher).await;
    server.create_workload("web").await;
    assert_eq!(publish(&server, &publisher, &json!({})).await.status, StatusCode::ACCEPTED);

    let set = with_policies(&executor("deployer"));
    assert_eq!(put(&server, &admin, &set).await.status, StatusCode::OK);
    let mut edited = set.clone();
    edited["spec"]["namespace"] = "apps-2".into();
    let answer = put(&server, &publisher, &edited).await;
    assert_eq!(answer.status, StatusCode::OK, "it stays: {}", answer.text);
    let removed = put(&server, &publisher, &new_workload("web")).await;
    assert_refused(&removed, "set-executor", "the account of the agent may have more rights");
    assert_eq!(put(&server, &admin, &set).await.status, StatusCode::OK);
    let published = publish(&server, &publisher, &json!({})).await;
    assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);

    let restore = json!({ "revision": 1 });
    let path = format!("{WORKLOADS}/web:restore");
    let restored = publisher.send(&server, &Method::POST, &path, &restore.to_string()).await;
    assert_refused(&restored, "set-executor", "restore");
    assert_refused(&publish(&server, &publisher, &restore).await, "set-executor", "rollback");

    // The override is published on the published revision, without the executor that the draft has meanwhile.
    assert_eq!(put(&server, &admin, &with_policies(&executor("other"))).await.status, StatusCode::OK);
    let object = json!({ "kind": "ConfigMap", "name": "web" });
    let patch = json!({ "object": object, "op": "set", "path": "/data/key", "value": "other" });
    let change = json!({ "target": { "clusters": ["eu-1"] }, "patches": [patch] });
    let path = format!("{WORKLOADS}/web/overrides/eu?now=true");
    let answer = put_json(&server, &publisher, &path, &change).await;
    assert!(answer.status.is_success(), "{} {}", answer.status, answer.text);
    assert_refused(&publish(&server, &publisher, &restore).await, "set-executor", "rollback");
    let rolled_back = publish(&server, &admin, &restore).await;
    assert_eq!(rolled_back.status, StatusCode::ACCEPTED, "{}", rolled_back.text);
}
