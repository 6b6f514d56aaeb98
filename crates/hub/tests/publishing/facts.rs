//! Cluster facts in the guard rails of a draft.

use domain::cluster::{ApiResource, ClusterFacts, NamespaceFacts};
use domain::workload::WorkloadSpec;

use crate::test_hub::{TestHub, everywhere, source};

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  \
    template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: \"reg.example.com/web:1\"}]}\n";

/// Facts of a cluster whose agent may write Deployments only in namespace shop, if granted.
fn facts(granted: &[&str], pull_accounts: &[&str]) -> ClusterFacts {
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
        permissions_known: true,
        namespaces: vec![shop],
        ..ClusterFacts::default()
    }
}

/// The clusters of the finding with this code.
async fn finding_clusters(test: &TestHub, code: &str) -> Vec<Vec<String>> {
    let spec = WorkloadSpec {
        namespace: "shop".into(),
        source: source(WEB),
        placement: everywhere(),
        ..WorkloadSpec::default()
    };
    let checked = test.hub.check_workload(&test.actor, "web", &spec).await.unwrap();
    checked
        .findings
        .into_iter()
        .filter(|finding| finding.code == code)
        .map(|finding| finding.clusters)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn g410_missing_rights_of_an_agent_are_a_finding_for_its_cluster_until_granted() {
    let test = TestHub::open().await;
    let (mut east, mut west) =
        (test.register_cluster("east", &[]).await, test.register_cluster("west", &[]).await);
    test.register_cluster("silent", &[]).await;
    east.send_facts(facts(&[], &["default"])).await;
    west.send_facts(facts(&["Deployment.apps"], &["default"])).await;
    assert_eq!(finding_clusters(&test, "G410").await, [["east"]]);
    east.send_facts(facts(&["Deployment.apps"], &["default"])).await;
    assert!(finding_clusters(&test, "G410").await.is_empty());
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g205_a_missing_pull_secret_is_a_finding_for_its_cluster() {
    let test = TestHub::open().await;
    let (mut east, mut west) =
        (test.register_cluster("east", &[]).await, test.register_cluster("west", &[]).await);
    east.send_facts(facts(&["Deployment.apps"], &[])).await;
    west.send_facts(facts(&["Deployment.apps"], &["default"])).await;
    assert_eq!(finding_clusters(&test, "G205").await, [["east"]]);
    test.close().await;
}
