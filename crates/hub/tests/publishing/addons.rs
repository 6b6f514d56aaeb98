//! Addons: placed on every matching cluster, with the cluster's values.

use domain::bundle::Bundle;
use domain::cluster::ClusterFacts;
use domain::condition::ConditionType;
use domain::placement::Placement;
use domain::release::{ReleaseState, StageName};
use domain::report::{DesiredPhase, DesiredRelease};
use domain::request::ClusterPatch;
use domain::workload::{NewWorkload, WorkloadSpec};
use hub::{Error, PublishOptions};
use serde_json::Value;

use crate::test_hub::{TestAgent, TestHub, by_label, everywhere, source, wait_for, wait_until};

const REGIONAL: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\ndata:\n  \
                        region: ${{ cluster.labels.region }}\n  peers: ${{ fleet.targets }}\n";

async fn publish_addon(test: &TestHub, text: &str, placement: Placement) {
    let spec = WorkloadSpec {
        namespace: "edge".into(),
        addon: true,
        source: source(text),
        placement,
        ..WorkloadSpec::default()
    };
    let new = NewWorkload { name: "edge".into(), spec, ..NewWorkload::default() };
    test.hub.create_workload(&test.actor, new).await.unwrap();
    test.publish("edge").await;
}

fn facts() -> ClusterFacts {
    ClusterFacts { kubernetes_version: "v1.36.3".into(), ..ClusterFacts::default() }
}

async fn bundle_data(test: &TestHub, agent: &TestAgent, desired: &DesiredRelease) -> Value {
    let DesiredPhase::Present { bundle, .. } = &desired.phase else { panic!("{desired:?}") };
    let bytes = test.hub.get_bundle(agent.id, desired.release, bundle).await.unwrap();
    Bundle::from_bytes(&bytes).unwrap().objects[0]["data"].clone()
}

/// Waits until the release waits with this reason, and returns its message.
async fn wait_for_reason(test: &TestHub, cluster: &str, reason: &str) -> String {
    let view = wait_for(&format!("edge on {cluster} waits for {reason}"), async || {
        let view = test.hub.get_release("edge", cluster).await.ok()?;
        let stage = view.release.stages().get(StageName::Rendered);
        stage.state.reason().is_some_and(|trouble| trouble.reason.as_str() == reason).then_some(view)
    })
    .await;
    let stage = view.release.stages().get(StageName::Rendered);
    assert_eq!(stage.state.as_str(), "waiting", "waiting is not a failure (S4-9)");
    assert!(!view.state.is_failing(), "{:?}", view.state);
    let condition = view.conditions.iter().find(|one| one.kind == ConditionType::Rendered).unwrap();
    assert_eq!(condition.reason, reason, "the condition has the reason (S4-10)");
    view.message
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_1_an_addon_is_placed_on_every_matching_cluster_and_on_those_that_join_later() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("region", "eu")]).await;
    east.send_facts(facts()).await;
    publish_addon(&test, REGIONAL, by_label("region")).await;
    let desired = east.wait_for_release().await;
    assert_eq!(bundle_data(&test, &east, &desired).await["region"], "eu");
    // Without another publish, which workloads other than addons need (s1_9).
    let mut west = test.register_cluster("west", &[("region", "us")]).await;
    west.send_facts(facts()).await;
    let desired = west.wait_for_release().await;
    assert_eq!(bundle_data(&test, &west, &desired).await["region"], "us");
    let mut plain = test.register_cluster("plain", &[]).await;
    plain.send_facts(facts()).await;
    assert!(matches!(test.hub.get_release("edge", "plain").await, Err(Error::NotFound { .. })));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_3_an_addon_waits_until_the_cluster_has_reported_its_facts() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    publish_addon(&test, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\n", everywhere()).await;
    let message = wait_for_reason(&test, "east", "WaitingForCluster").await;
    assert!(message.contains("east has not reported its facts yet"), "{message}");
    assert!(east.next_desired_state().await.releases.is_empty(), "nothing is sent before");
    east.send_facts(facts()).await;
    east.apply_release().await;
    assert_eq!(test.hub.get_release("edge", "east").await.unwrap().state, ReleaseState::Healthy);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_5_s4_7_an_addon_is_applied_again_only_when_its_values_change() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("region", "eu")]).await;
    east.send_facts(facts()).await;
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\ndata:\n  \
                region: ${{ cluster.labels.region }}\n  provider: ${{ cluster.provider | default(\"metal\") }}\n";
    publish_addon(&test, text, everywhere()).await;
    let first = east.wait_for_release().await;
    assert_eq!(bundle_data(&test, &east, &first).await["provider"], "metal");
    east.report_applied(&first).await;
    // A fact that the addon does not use changes nothing.
    east.send_facts(ClusterFacts { storage_classes: vec!["fast".into()], ..facts() }).await;
    test.publish("edge").await;
    let relabel = async |region: &str| {
        let labels = [("region".to_owned(), Some(region.to_owned()))].into();
        let edit = ClusterPatch { labels, ..ClusterPatch::default() };
        test.hub.edit_cluster(&test.actor, "east", edit, None).await.unwrap();
    };
    relabel("us").await;
    let second = east
        .wait_for_desired_state(|desired_state| desired_state.releases[0].generation != first.generation)
        .await
        .releases
        .remove(0);
    assert_eq!(second.generation, first.generation + 1, "the fact and the second publish changed nothing");
    assert_eq!(bundle_data(&test, &east, &second).await["region"], "us");
    east.report_applied(&second).await;
    east.send_facts(ClusterFacts { provider: "aws".into(), ..facts() }).await;
    let third = east
        .wait_for_desired_state(|desired_state| desired_state.releases[0].generation != second.generation)
        .await
        .releases
        .remove(0);
    assert_eq!(bundle_data(&test, &east, &third).await["provider"], "aws");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_9_s4_10_an_addon_waits_for_a_missing_value_without_blocking_other_clusters() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[("region", "us")]).await;
    for agent in [&mut east, &mut west] {
        agent.send_facts(facts()).await;
    }
    publish_addon(&test, REGIONAL, everywhere()).await;
    let desired = west.wait_for_release().await;
    assert_eq!(bundle_data(&test, &west, &desired).await["peers"], "east,west");
    let message = wait_for_reason(&test, "east", "WaitingForValue").await;
    assert!(message.contains("cluster.labels.region") && message.contains("Label the cluster"), "{message}");
    let labels = [("region".to_owned(), Some("eu".to_owned()))].into();
    let edit = ClusterPatch { labels, ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, "east", edit, None).await.unwrap();
    let desired = east.wait_for_release().await;
    assert_eq!(bundle_data(&test, &east, &desired).await["region"], "eu");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_a_bundle_whose_bytes_were_lost_is_rendered_again_on_request() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("region", "eu")]).await;
    east.send_facts(facts()).await;
    let other = test.register_cluster("west", &[]).await;
    publish_addon(&test, REGIONAL, everywhere()).await;
    let desired = east.wait_for_release().await;
    let DesiredPhase::Present { bundle, .. } = &desired.phase else { panic!("{desired:?}") };
    test.delete_artifacts().await;
    let missing = test.hub.get_bundle(east.id, desired.release, bundle).await;
    let is_awaited = matches!(missing, Err(Error::BeingRestored { retry_after_seconds: 1.., .. }));
    assert!(is_awaited, "{missing:?}");
    let foreign = test.hub.get_bundle(other.id, desired.release, bundle).await;
    assert!(matches!(foreign, Err(Error::NotFound { .. })), "{foreign:?}");
    wait_until("the bundle is rendered again", async || {
        test.hub.get_bundle(east.id, desired.release, bundle).await.is_ok()
    })
    .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g115_a_workload_is_rejected_for_a_value_that_a_selected_cluster_lacks() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts()).await;
    test.create_draft("web", everywhere()).await;
    test.edit_draft("web", |spec| spec.source = source(REGIONAL)).await;
    let rejected =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap_err();
    let finding = rejected.findings().iter().find(|finding| finding.code == "G115").unwrap();
    assert_eq!(finding.clusters, ["east"]);
    test.close().await;
}
