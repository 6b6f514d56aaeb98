//! Guard rails that depend on facts from agents: the schema of the cluster's kinds (G403) and missing images (G204).

use std::sync::Arc;

use agent::{RegistryAccess, RegistryClient};
use domain::Digest;
use domain::condition::ConditionStatus;
use domain::join::{ClusterCondition, ClusterConditionType};
use domain::placement::{Placement, Predicate};
use domain::report::ReportBatch;
use domain::schema::EncodedSchema;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use serde_json::json;
use wire::AgentClient;
use wire::agent::SessionRequest;

use crate::test_server::{MemberCluster, TestServer, join_for_certificate, wait_until};

const SHIP: &str = "apiVersion: sea.example.com/v1\nkind: Ship\nmetadata: {name: argo, namespace: default}\nspec: {mast: 3}\n";

/// Messages and clusters of the G403 findings of a `Ship`.
async fn g403_findings(server: &TestServer) -> Vec<(String, Vec<String>)> {
    let file = SourceFile { name: "ship.yaml".to_owned(), text: SHIP.to_owned() };
    let placement = Placement { predicates: vec![Predicate::default()], ..Placement::default() };
    let source = Source::Yaml { files: vec![file] };
    let spec = WorkloadSpec { namespace: "default".to_owned(), source, placement, ..WorkloadSpec::default() };
    let checked = server.hub.check_workload(&server.actor, "ship", &spec).await.unwrap();
    let found = checked.findings.into_iter().filter(|finding| finding.code == "G403");
    found.map(|finding| (finding.message, finding.clusters)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn g403_a_custom_resource_is_checked_by_the_schema_of_its_cluster_only() {
    let server = TestServer::open().await;
    let (one, _other) = (server.join_cluster("eu-1").await, server.join_cluster("eu-2").await);
    let fields = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"masts": {"type": "integer"}}}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.sea.example.com"}, "spec": {"group": "sea.example.com", "scope": "Namespaced",
        "names": {"plural": "ships", "kind": "Ship"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": fields}}]}});
    one.cluster.create(definition, "test").unwrap();
    let typo = "Ship \"argo\": unknown field spec.mast (did you mean masts?).".to_owned();
    wait_until("the agent has uploaded the schema", async || {
        g403_findings(&server).await == [(typo.clone(), vec!["eu-1".to_owned()])]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g403_only_a_schema_that_a_report_has_named_is_accepted() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let client = join_for_certificate(&server, "eu", &token).await.unwrap().client().unwrap();
    let incarnation = client.start_session(&SessionRequest::default()).await.unwrap().incarnation;
    let mut seq = 0;
    let mut name = async |digest: &Digest| {
        seq += 1;
        let schema = Some(digest.clone());
        let batch =
            ReportBatch { incarnation, seq, facts: None, schema, leftovers: None, releases: Vec::new() };
        client.send_reports(&batch).await.unwrap().schema_requested
    };
    let good = EncodedSchema::new("{\"minor\":30,\"kinds\":{},\"shared\":[]}".to_owned());
    assert!(client.upload_schema(&good).await.unwrap_err().error.is_not_found(), "no report has named it");
    assert!(name(&good.digest).await);
    let other = EncodedSchema { text: good.text.replace("30", "31"), ..good.clone() };
    assert!(client.upload_schema(&other).await.is_err(), "the bytes have another digest");
    assert!(name(&good.digest).await, "nothing was stored");
    client.upload_schema(&good).await.unwrap();
    assert!(!name(&good.digest).await, "the hub has it");
    let no_schema = EncodedSchema::new("{\"kinds\":{\"v1/Ship\":7}}".to_owned());
    assert!(name(&no_schema.digest).await);
    assert!(client.upload_schema(&no_schema).await.is_err());
}

/// The condition of the cluster that its kinds are not known, if it has it.
async fn kinds_condition(server: &TestServer, cluster: &str) -> Option<ClusterCondition> {
    let conditions = server.hub.get_cluster(cluster).await.unwrap().conditions;
    conditions.into_iter().find(|condition| condition.kind == ClusterConditionType::KindsKnown)
}

/// A schema of 1.6 MB, which needs some 300 MiB when it is parsed.
fn large_schema() -> EncodedSchema {
    let maps = "{\"a\":1},".repeat(200_000);
    let shared = format!("\"shared\":[\"text\",{maps}\"text\"]");
    EncodedSchema::new(format!("{{\"minor\":36,\"kinds\":{{}},{shared}}}"))
}

/// Reports a schema; returns whether the hub requests it.
async fn report_schema(client: &AgentClient, (incarnation, seq): (i64, i64), digest: &Digest) -> bool {
    let schema = Some(digest.clone());
    let batch = ReportBatch { incarnation, seq, facts: None, schema, leftovers: None, releases: Vec::new() };
    client.send_reports(&batch).await.unwrap().schema_requested
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_a_schema_that_needs_too_much_memory_is_refused_and_its_cluster_says_that_its_kinds_are_unknown()
{
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let identity = join_for_certificate(&server, "eu", &token).await.unwrap();
    let client = identity.client().unwrap();
    let incarnation = client.start_session(&SessionRequest::default()).await.unwrap().incarnation;
    assert_eq!(kinds_condition(&server, "eu").await, None);
    let large = large_schema();
    assert!(report_schema(&client, (incarnation, 1), &large.digest).await);
    let refused = client.upload_schema(&large).await.unwrap_err();
    assert_eq!(refused.error.code(), "Invalid", "{refused}");
    let condition = kinds_condition(&server, "eu").await.unwrap();
    assert_eq!((condition.status, condition.reason.as_str()), (ConditionStatus::False, "SchemaTooLarge"));
    assert!(condition.message.contains("MiB of memory") && !condition.hint.is_empty(), "{condition:?}");
    let listed = server.hub.list_clusters(&domain::page::ListQuery::default()).await.unwrap();
    assert!(listed.items[0].conditions.contains(&condition), "{:?}", listed.items[0].conditions);

    // A server that has been restarted has not seen it, and does not say that the kinds are known.
    let server = server.restart().await;
    let condition = kinds_condition(&server, "eu").await.unwrap();
    assert_eq!((condition.status, condition.reason.as_str()), (ConditionStatus::Unknown, "SchemaMissing"));
    // The connections of the first client have ended.
    let client = identity.client().unwrap();
    let good = EncodedSchema::new("{\"minor\":30,\"kinds\":{},\"shared\":[]}".to_owned());
    assert!(report_schema(&client, (incarnation, 2), &good.digest).await);
    client.upload_schema(&good).await.unwrap();
    assert_eq!(kinds_condition(&server, "eu").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_a_large_schema_that_an_earlier_version_stored_is_named_by_its_cluster_and_by_checks() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let client = join_for_certificate(&server, "eu", &token).await.unwrap().client().unwrap();
    let incarnation = client.start_session(&SessionRequest::default()).await.unwrap().incarnation;
    let large = large_schema();
    assert!(report_schema(&client, (incarnation, 1), &large.digest).await);
    assert!(g403_findings(&server).await.is_empty(), "nothing is stored yet");
    server.store_artifact(&large.digest, large.text.as_bytes()).await;
    // The condition is there before anything else has measured it.
    let listed = server.hub.list_clusters(&domain::page::ListQuery::default()).await.unwrap();
    let is_too_large = |condition: &ClusterCondition| condition.reason == "SchemaTooLarge";
    assert!(listed.items[0].conditions.iter().any(is_too_large), "{:?}", listed.items[0].conditions);
    let found = g403_findings(&server).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0.contains("were not read") && found[0].1 == ["eu"], "{found:?}");
}

/// An empty registry; returns its host.
async fn empty_registry() -> String {
    let gone = || async { (axum::http::StatusCode::NOT_FOUND, "{\"errors\":[{\"code\":\"NAME_UNKNOWN\"}]}") };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(gone)).await });
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn g204_a_plan_reports_a_missing_image() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let member = MemberCluster::new("eu-1");
    let registries = Some(Arc::new(RegistryClient::new(RegistryAccess::Http).unwrap()));
    let options = agent::AgentOptions { registries, ..member.options() };
    member.start_with(Some(server.join_config("eu-1", &token)), options);
    server.wait_for_condition("eu-1", "AgentConnected").await;
    let image = format!("{}/shop/web:1", empty_registry().await);
    let pod = json!({"containers": [{"name": "web", "image": image}]});
    let text = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod}}});
    let file = SourceFile { name: "web.yaml".to_owned(), text: text.to_string() };
    let placement = Placement { predicates: vec![Predicate::default()], ..Placement::default() };
    let source = Source::Yaml { files: vec![file] };
    let spec = WorkloadSpec { namespace: "default".to_owned(), source, placement, ..WorkloadSpec::default() };
    let new = NewWorkload { name: "web".to_owned(), spec, ..NewWorkload::default() };
    server.hub.create_workload(&server.actor, new).await.unwrap();
    let plan = server.hub.create_plan(&server.actor, "web", &hub::PublishOptions::default()).await.unwrap();
    let plan = server.hub.wait_for_plan(plan.id, testkit::patience()).await.unwrap();
    let finding = plan.with_results().findings.into_iter().find(|one| one.code == "G204");
    let finding = finding.expect("the plan has the finding");
    assert_eq!((finding.is_blocking(), finding.clusters.as_slice()), (false, &["eu-1".to_owned()][..]));
    assert!(
        finding.message.contains(&image) && finding.message.contains("does not exist in its registry"),
        "{finding:?}"
    );
    let line = finding.location.map(|place| place.file);
    assert_eq!(line.as_deref(), Some("web.yaml"), "the finding has its source location");
}
