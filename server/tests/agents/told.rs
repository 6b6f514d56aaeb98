//! What agents find out beside their reports is what the hub judges by: the structure of their cluster's kinds (G403), and
//! whether images are there (G204).

use std::sync::Arc;
use std::time::Duration;

use agent::{Registries, Scheme};
use domain::Digest;
use domain::placement::{Placement, Predicate};
use domain::report::ReportBatch;
use domain::schema::Written;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use serde_json::json;
use wire::agent::Begin;

use crate::house::{House, Member, certificate, until};

const SHIP: &str = "apiVersion: sea.example.com/v1\nkind: Ship\nmetadata: {name: argo, namespace: default}\nspec: {mast: 3}\n";

/// What the guard rails say of the structure of a ship on every cluster.
async fn said(house: &House) -> Vec<(String, Vec<String>)> {
    let file = SourceFile { name: "ship.yaml".to_owned(), text: SHIP.to_owned() };
    let placement = Placement { predicates: vec![Predicate::default()], ..Placement::default() };
    let source = Source::Yaml { files: vec![file] };
    let spec = WorkloadSpec { namespace: "default".to_owned(), source, placement, ..WorkloadSpec::default() };
    let checked = house.hub.workload_check("ship", &spec).await.unwrap();
    let found = checked.findings.into_iter().filter(|finding| finding.code == "G403");
    found.map(|finding| (finding.message, finding.clusters)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn g403_a_kind_that_is_defined_on_a_cluster_is_known_there_and_not_elsewhere() {
    let house = House::open().await;
    let (one, _other) = (house.joined("eu-1").await, house.joined("eu-2").await);
    let fields = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"masts": {"type": "integer"}}}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.sea.example.com"}, "spec": {"group": "sea.example.com", "scope": "Namespaced",
        "names": {"plural": "ships", "kind": "Ship"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": fields}}]}});
    one.cluster.create(definition, "test").unwrap();
    let typo = "Ship \"argo\": unknown field spec.mast (did you mean masts?).".to_owned();
    until("the cluster has told its kinds", async || {
        said(&house).await == [(typo.clone(), vec!["eu-1".to_owned()])]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g403_only_the_schema_that_a_report_named_is_taken() {
    let house = House::open().await;
    let token = house.open_token().await;
    let client = certificate(&house, "eu", &token).await.unwrap().client().unwrap();
    let incarnation = client.begin(&Begin::default()).await.unwrap().incarnation;
    let mut seq = 0;
    let mut name = async |digest: &Digest| {
        seq += 1;
        let schema = Some(digest.clone());
        let batch = ReportBatch { incarnation, seq, facts: None, schema, releases: Vec::new() };
        client.report(&batch).await.unwrap().schema_wanted
    };
    let good = Written::new("{\"minor\":30,\"kinds\":{},\"shared\":[]}".to_owned());
    assert!(client.schema(&good).await.unwrap_err().error.is_not_found(), "nobody named it");
    assert!(name(&good.digest).await);
    let other = Written { text: good.text.replace("30", "31"), ..good.clone() };
    assert!(client.schema(&other).await.is_err(), "these are not its bytes");
    assert!(name(&good.digest).await, "nothing was kept");
    client.schema(&good).await.unwrap();
    assert!(!name(&good.digest).await, "the hub has it");
    let no_schema = Written::new("{\"kinds\":{\"v1/Ship\":7}}".to_owned());
    assert!(name(&no_schema.digest).await);
    assert!(client.schema(&no_schema).await.is_err());
}

/// A registry that has nothing; returns its host.
async fn empty_registry() -> String {
    let gone = || async { (axum::http::StatusCode::NOT_FOUND, "{\"errors\":[{\"code\":\"NAME_UNKNOWN\"}]}") };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(gone)).await });
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn g204_a_plan_tells_of_an_image_that_is_not_there() {
    let house = House::open().await;
    let token = house.open_token().await;
    let member = Member::new("eu-1");
    let registries = Some(Arc::new(Registries::over(Scheme::Http).unwrap()));
    let options = agent::Options { registries, ..member.options() };
    member.start_with(Some(house.invitation("eu-1", &token)), options);
    house.until_condition("eu-1", "AgentCame").await;
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
    house.hub.workload_create(&house.actor, new).await.unwrap();
    let plan = house.hub.plan_make(&house.actor, "web").await.unwrap();
    let plan = house.hub.plan_wait(plan.id, Duration::from_secs(30)).await.unwrap();
    let said = plan.with_verdicts().findings.into_iter().find(|finding| finding.code == "G204");
    let said = said.expect("the plan tells it");
    assert_eq!((said.blocks(), said.clusters.as_slice()), (false, &["eu-1".to_owned()][..]));
    assert!(said.message.contains(&image) && said.message.contains("not in its registry"), "{said:?}");
    let line = said.place.map(|place| place.file);
    assert_eq!(line.as_deref(), Some("web.yaml"), "it is told at the source");
}
