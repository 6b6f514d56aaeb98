//! Objects of others that have a copied label of a release, on a cluster that leaves the placement of its workload (I5).

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::PostParams;
use testkit::{ControlPlane, ControlPlaneOptions};

use super::*;

/// A namespace and a ConfigMap in it, so that both kinds are watched.
fn ledger(clusters: &[&str]) -> NewWorkload {
    let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ledger}\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: ledger}\ndata: {key: ours}\n";
    let mut new = web_workload();
    new.spec.namespace = "ledger".to_owned();
    new.spec.source =
        Source::Yaml { files: vec![SourceFile { name: "ledger.yaml".to_owned(), text: text.to_owned() }] };
    new.spec.placement.predicates[0].names = clusters.iter().map(|name| (*name).to_owned()).collect();
    new
}

/// An operator copies the labels of an object of the release to a namespace and an object in it; then the second cluster leaves
/// the placement.
async fn assert_copies_stay(fleet: &TestFleet) {
    fleet.client.create_workload(&ledger(&["eu-1", "us-1"])).await.unwrap();
    fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
    fleet.wait_for_web(|status| status.counts.healthy() == 2).await;

    let client = || fleet.agents[1].client.clone();
    let own: Api<ConfigMap> = Api::namespaced(client(), "ledger");
    let labels = own.get("settings").await.unwrap().metadata.labels.unwrap();
    assert!(labels.contains_key("flotilla.dev/release"), "{labels:?}");
    let namespaces: Api<Namespace> = Api::all(client());
    let params = PostParams { field_manager: Some("operator".to_owned()), ..PostParams::default() };
    let copy = json!({"metadata": {"name": "theirs", "labels": labels}});
    namespaces.create(&params, &serde_json::from_value(copy.clone()).unwrap()).await.unwrap();
    let theirs: Api<ConfigMap> = Api::namespaced(client(), "theirs");
    theirs.create(&params, &serde_json::from_value(copy).unwrap()).await.unwrap();

    let current = fleet.client.get_workload("web").await.unwrap().workload;
    let put = WorkloadPut { spec: ledger(&["eu-1"]).spec, ..WorkloadPut::default() };
    fleet.client.put_workload("web", &put, current.revision).await.unwrap();
    fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
    let is_removed = async || {
        own.get_opt("settings").await.unwrap().is_none()
            && namespaces.get_opt("ledger").await.unwrap().is_none()
    };
    fleet.wait_until(is_removed).await;
    let namespace = namespaces.get("theirs").await.unwrap();
    assert_eq!(namespace.metadata.deletion_timestamp, None, "the namespace is somebody else's");
    let object = theirs.get("theirs").await.unwrap();
    assert_eq!(object.metadata.deletion_timestamp, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn i5_a_cluster_that_leaves_the_placement_keeps_a_namespace_with_a_copied_label() {
    with_timeout(async {
        let fleet = TestFleet::start_with(&["eu-1", "us-1"].map(str::to_owned)).await;
        assert_copies_stay(&fleet).await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i5_a_real_cluster_that_leaves_the_placement_keeps_a_namespace_with_a_copied_label() {
    if !testkit::is_available("a cluster that leaves a placement") {
        return;
    }
    with_timeout(Box::pin(async {
        // The controllers delete the namespace of the release.
        let plane = ControlPlane::start(ControlPlaneOptions::with_workloads()).await;
        let mut fleet = TestFleet::start_with(&["eu-1".to_owned()]).await;
        fleet.join_cluster("us-1", plane.client()).await;
        fleet.wait_for_connectivity("us-1", Connectivity::Online).await;
        assert_copies_stay(&fleet).await;
        fleet.stop().await;
    }))
    .await;
}
