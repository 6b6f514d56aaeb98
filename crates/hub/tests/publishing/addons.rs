//! Addons: on every cluster that matches, by themselves, with the cluster's own values.

use std::time::Duration;

use domain::bundle::Bundle;
use domain::cluster::ClusterFacts;
use domain::condition::ConditionType;
use domain::placement::Placement;
use domain::release::{StageName, State};
use domain::report::{Goal, Want};
use domain::workload::{NewWorkload, WorkloadSpec};
use hub::{ClusterEdit, Error, Terms};
use serde_json::Value;

use crate::house::{Agent, House, everywhere, labelled, source};

const REGIONAL: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\ndata:\n  \
                        region: ${{ cluster.labels.region }}\n  peers: ${{ fleet.targets }}\n";

async fn addon(house: &House, text: &str, placement: Placement) {
    let spec = WorkloadSpec {
        namespace: "edge".into(),
        addon: true,
        source: source(text),
        placement,
        ..WorkloadSpec::default()
    };
    let new = NewWorkload { name: "edge".into(), labels: Default::default(), spec };
    house.hub.workload_create(&house.actor, new).await.unwrap();
    house.publish("edge").await;
}

fn facts() -> ClusterFacts {
    ClusterFacts { kubernetes_version: "v1.36.3".into(), ..ClusterFacts::default() }
}

async fn data(house: &House, agent: &Agent, want: &Want) -> Value {
    let Goal::Present { bundle, .. } = &want.goal else { panic!("{want:?}") };
    let bytes = house.hub.bundle(agent.id, want.release, bundle).await.unwrap();
    Bundle::from_bytes(&bytes).unwrap().objects[0]["data"].clone()
}

/// Waits until the release waits for this, and returns what it says.
async fn waits_for(house: &House, cluster: &str, reason: &str) -> String {
    for _ in 0..400 {
        if let Ok(view) = house.hub.release_view("edge", cluster).await {
            let stage = view.release.stages.get(StageName::Rendered);
            if stage.state.trouble().is_some_and(|trouble| trouble.reason == reason) {
                assert_eq!(stage.state.word(), "waiting", "waiting is no failure (S4-9)");
                assert!(!view.state.is_failing(), "{:?}", view.state);
                let told = view.conditions.iter().find(|one| one.kind == ConditionType::Rendered).unwrap();
                assert_eq!(told.reason, reason, "conditions say what is going on (S4-10)");
                return view.message;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("edge on {cluster} never waited for {reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_1_an_addon_goes_by_itself_to_every_cluster_that_matches_and_to_those_that_join_later() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[("region", "eu")]).await;
    east.tell(facts()).await;
    addon(&house, REGIONAL, labelled("region")).await;
    let want = east.one().await;
    assert_eq!(data(&house, &east, &want).await["region"], "eu");
    // Nobody publishes again; compare s1_9, where an ordinary workload asks to be.
    let mut west = house.cluster("west", &[("region", "us")]).await;
    west.tell(facts()).await;
    let want = west.one().await;
    assert_eq!(data(&house, &west, &want).await["region"], "us");
    let mut plain = house.cluster("plain", &[]).await;
    plain.tell(facts()).await;
    assert!(matches!(house.hub.release_view("edge", "plain").await, Err(Error::NotFound { .. })));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_3_an_addon_waits_until_the_cluster_is_ready_and_goes_there_then() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    addon(&house, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\n", everywhere()).await;
    let said = waits_for(&house, "east", "WaitingForCluster").await;
    assert!(said.contains("east has not told of itself yet"), "{said}");
    assert!(east.next().await.releases.is_empty(), "nothing is sent before");
    east.tell(facts()).await;
    let want = east.one().await;
    east.obey(&want).await;
    assert_eq!(house.hub.release_view("edge", "east").await.unwrap().state, State::Healthy);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_5_s4_7_an_addon_is_applied_anew_only_when_its_values_changed() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[("region", "eu")]).await;
    east.tell(facts()).await;
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\ndata:\n  \
                region: ${{ cluster.labels.region }}\n  provider: ${{ cluster.provider | default(\"metal\") }}\n";
    addon(&house, text, everywhere()).await;
    let first = east.one().await;
    assert_eq!(data(&house, &east, &first).await["provider"], "metal");
    east.obey(&first).await;
    // A fact that nothing asks for is no work.
    east.tell(ClusterFacts { storage_classes: vec!["fast".into()], ..facts() }).await;
    house.publish("edge").await;
    let relabel = async |region: &str| {
        let labels = [("region".to_owned(), Some(region.to_owned()))].into();
        let edit = ClusterEdit { labels, ..ClusterEdit::default() };
        house.hub.cluster_edit(&house.actor, "east", edit, None).await.unwrap();
    };
    relabel("us").await;
    let second =
        east.until(|wants| wants.releases[0].generation != first.generation).await.releases.remove(0);
    assert_eq!(second.generation, first.generation + 1, "the fact and the second publish were no work");
    assert_eq!(data(&house, &east, &second).await["region"], "us");
    east.obey(&second).await;
    east.tell(ClusterFacts { provider: "aws".into(), ..facts() }).await;
    let third =
        east.until(|wants| wants.releases[0].generation != second.generation).await.releases.remove(0);
    assert_eq!(data(&house, &east, &third).await["provider"], "aws");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_9_s4_10_an_addon_waits_for_a_value_that_is_not_there_and_the_others_go_on() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    let mut west = house.cluster("west", &[("region", "us")]).await;
    for agent in [&mut east, &mut west] {
        agent.tell(facts()).await;
    }
    addon(&house, REGIONAL, everywhere()).await;
    let want = west.one().await;
    assert_eq!(data(&house, &west, &want).await["peers"], "east,west");
    let said = waits_for(&house, "east", "WaitingForValue").await;
    assert!(said.contains("cluster.labels.region") && said.contains("Label the cluster"), "{said}");
    let labels = [("region".to_owned(), Some("eu".to_owned()))].into();
    let edit = ClusterEdit { labels, ..ClusterEdit::default() };
    house.hub.cluster_edit(&house.actor, "east", edit, None).await.unwrap();
    let want = east.one().await;
    assert_eq!(data(&house, &east, &want).await["region"], "eu");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_a_bundle_whose_bytes_were_lost_is_rendered_again_when_a_cluster_asks() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[("region", "eu")]).await;
    east.tell(facts()).await;
    addon(&house, REGIONAL, everywhere()).await;
    let want = east.one().await;
    let Goal::Present { bundle, .. } = &want.goal else { panic!("{want:?}") };
    house.lose_artifacts().await;
    let missing = house.hub.bundle(east.id, want.release, bundle).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    for _ in 0..400 {
        if house.hub.bundle(east.id, want.release, bundle).await.is_ok() {
            house.close().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the bundle never came back");
}

#[tokio::test(flavor = "multi_thread")]
async fn g115_an_ordinary_workload_is_refused_for_a_value_that_a_chosen_cluster_lacks() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    east.tell(facts()).await;
    house.draft("web", everywhere()).await;
    let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    spec.source = source(REGIONAL);
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    let refused = house.hub.workload_publish(&house.actor, "web", "", Terms::default()).await.unwrap_err();
    let finding = refused.findings().iter().find(|finding| finding.code == "G115").unwrap();
    assert_eq!(finding.clusters, ["east"]);
    house.close().await;
}
