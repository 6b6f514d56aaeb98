//! What clusters told of themselves, in the guard rails of a draft.

use domain::cluster::{ApiResource, ClusterFacts, NamespaceFacts};
use domain::workload::WorkloadSpec;

use crate::house::{House, everywhere, source};

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  \
    template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: \"reg.example.com/web:1\"}]}\n";

/// A cluster whose agent may write Deployments in the namespaces where that was granted, and nowhere else.
fn told(granted: &[&str], pull_accounts: &[&str]) -> ClusterFacts {
    let names = |all: &[&str]| -> Vec<String> { all.iter().map(|name| (*name).to_owned()).collect() };
    let deployments = ApiResource {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        namespaced: true,
        denied: true,
    };
    let shop = NamespaceFacts {
        name: "shop".into(),
        granted: Some(names(granted)),
        pull_accounts: Some(names(pull_accounts)),
        ..NamespaceFacts::default()
    };
    ClusterFacts {
        kubernetes_version: "v1.36.3".into(),
        apis: vec![deployments],
        rights_known: true,
        namespaces: vec![shop],
        ..ClusterFacts::default()
    }
}

/// The clusters of the finding with this code.
async fn said(house: &House, code: &str) -> Vec<Vec<String>> {
    let spec = WorkloadSpec {
        namespace: "shop".into(),
        source: source(WEB),
        placement: everywhere(),
        ..WorkloadSpec::default()
    };
    let checked = house.hub.workload_check("web", &spec).await.unwrap();
    checked.findings.into_iter().filter(|one| one.code == code).map(|one| one.clusters).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn g410_what_an_agent_was_not_granted_is_told_of_its_cluster_until_it_is() {
    let house = House::open().await;
    let (mut east, mut west) = (house.cluster("east", &[]).await, house.cluster("west", &[]).await);
    house.cluster("silent", &[]).await;
    east.tell(told(&[], &["default"])).await;
    west.tell(told(&["Deployment.apps"], &["default"])).await;
    assert_eq!(said(&house, "G410").await, [["east"]]);
    east.tell(told(&["Deployment.apps"], &["default"])).await;
    assert!(said(&house, "G410").await.is_empty());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g205_a_registry_without_a_pull_secret_is_told_of_the_cluster_that_has_none() {
    let house = House::open().await;
    let (mut east, mut west) = (house.cluster("east", &[]).await, house.cluster("west", &[]).await);
    east.tell(told(&["Deployment.apps"], &[])).await;
    west.tell(told(&["Deployment.apps"], &["default"])).await;
    assert_eq!(said(&house, "G205").await, [["east"]]);
    house.close().await;
}
