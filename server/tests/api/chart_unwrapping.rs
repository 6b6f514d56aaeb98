//! The chart inside an object of another tool becomes the source of a draft.

use axum::http::{Method, StatusCode};
use domain::role::Role;
use serde_json::{Value, json};

use crate::roles::RoleUser;
use crate::test_server::{TestServer, WORKLOADS};

const REPOSITORIES: &str = "/api/v1/projects/default/chart-repositories";
const HELM_CHART: &str = "apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: traefik, namespace: kube-system}
spec:
  repo: https://charts.example.com/edge/
  chart: traefik
  version: 34.1.0
  targetNamespace: ingress
  bootstrap: true
  takeOwnership: true
  valuesContent: |-
    replicas: 2 # two
    dashboard: {password: hunter2}
";

/// Creates the workload `edge` with the object.
async fn create_edge(server: &TestServer) {
    let source = json!({"type": "yaml", "files": [{"name": "chart.yaml", "text": HELM_CHART}]});
    let new = json!({"name": "edge", "spec": {"namespace": "default", "source": source}});
    let created = server.post(WORKLOADS, &new).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
}

async fn add_repository(server: &TestServer) {
    let new = json!({"name": "edge-charts", "url": "https://charts.example.com/edge"});
    let created = server.post(REPOSITORIES, &new).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
}

async fn preview(server: &TestServer) -> Value {
    let answer = server.post(&format!("{WORKLOADS}/edge:previewUnwrapping"), &json!({})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_2_the_chart_of_an_object_becomes_the_source_of_the_draft_and_nothing_is_published() {
    let server = TestServer::start().await;
    create_edge(&server).await;
    add_repository(&server).await;
    let shown = preview(&server).await;
    assert_eq!(shown["source"]["chart"], "edge-charts/traefik", "{shown}");
    assert_eq!(shown["chart"]["notCarried"][0]["path"], "/spec/bootstrap", "{shown}");
    let before = server.get(&format!("{WORKLOADS}/edge")).await.json();
    assert_eq!(before["draft"]["source"]["type"], "yaml", "a preview stores nothing");

    let path = format!("{WORKLOADS}/edge:unwrapChart");
    let stale = server.send_json(Method::POST, &path, &[("if-match", "\"99\"")], &json!({})).await;
    assert!(stale.status.is_client_error(), "{} {}", stale.status, stale.text);
    let revision = before["revision"].as_i64().unwrap();
    let etag = format!("\"{revision}\"");
    let unwrapped = server.send_json(Method::POST, &path, &[("if-match", etag.as_str())], &json!({})).await;
    assert_eq!(unwrapped.status, StatusCode::OK, "{}", unwrapped.text);
    let workload = unwrapped.json();
    let draft = &workload["draft"];
    assert_eq!((&draft["namespace"], &draft["policies"]["conflict"]), (&json!("ingress"), &json!("force")));
    assert_eq!(draft["source"], shown["source"]);
    assert_eq!(draft["source"]["releaseName"], "traefik");
    assert!(draft["source"]["values"].as_str().unwrap().contains("replicas: 2 # two"), "{draft}");
    assert_eq!((&workload["published"], workload["revision"].as_i64()), (&Value::Null, Some(revision + 1)));
    assert_ne!(unwrapped.header("etag"), "");

    let again = server.post(&path, &json!({})).await;
    assert_eq!(again.problem().0, 422, "{}", again.text);
    assert!(again.text.contains("Only files are unwrapped"), "{}", again.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_2_a_repository_that_the_project_does_not_have_is_named_with_the_way_to_add_it() {
    let server = TestServer::start().await;
    create_edge(&server).await;
    let shown = preview(&server).await;
    assert_eq!((&shown["source"], shown["findings"][0]["code"].as_str()), (&Value::Null, Some("G112")));
    assert_eq!(shown["chart"]["object"], "HelmChart traefik");
    let refused = server.post(&format!("{WORKLOADS}/edge:unwrapChart"), &json!({})).await;
    assert_eq!(refused.problem().0, 422, "{}", refused.text);
    assert!(
        refused.text.contains("flotilla chart repo add NAME https://charts.example.com/edge/"),
        "{}",
        refused.text
    );
    let stored = server.get(&format!("{WORKLOADS}/edge")).await.json();
    assert_eq!(stored["draft"]["source"]["type"], "yaml");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_no_value_of_a_chart_that_is_unwrapped_and_unwraps_none() {
    let server = TestServer::start().await;
    create_edge(&server).await;
    add_repository(&server).await;
    let path = format!("{WORKLOADS}/edge:previewUnwrapping");
    let editor = RoleUser::create(&server, Role::Editor).await;
    assert!(editor.send(&server, &Method::POST, &path, "{}").await.text.contains("hunter2"));
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    let shown = viewer.send(&server, &Method::POST, &path, "{}").await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.text);
    assert!(!shown.text.contains("hunter2") && shown.text.contains("(hidden)"), "{}", shown.text);
    let refused = viewer.send(&server, &Method::POST, &format!("{WORKLOADS}/edge:unwrapChart"), "{}").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
}
