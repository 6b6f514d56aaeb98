//! What a cluster's API server says of the structure of its kinds is what the hub judges by for that cluster (G403).

use domain::Digest;
use domain::placement::{Placement, Predicate};
use domain::report::ReportBatch;
use domain::schema::Written;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use serde_json::json;
use wire::agent::Begin;

use crate::house::{House, certificate, until};

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
