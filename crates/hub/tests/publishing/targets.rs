//! Which clusters get it, and which lose it.

use std::time::Duration;

use domain::overrides::{Override, Patch, PatchOp, Target};
use domain::placement::{ClusterGroup, Placement, Predicate};
use domain::release::{ReleaseGoal, State};
use domain::report::Goal;
use domain::{OverrideId, page::ListQuery};
use hub::{ClusterEdit, Terms};
use serde_json::json;

use crate::house::{Agent, House, everywhere, labelled};
use crate::state;

async fn relabel(house: &House, cluster: &str, env: Option<&str>) {
    let labels = [("env".to_owned(), env.map(str::to_owned))].into();
    let edit = ClusterEdit { labels, ..ClusterEdit::default() };
    house.hub.cluster_edit(&house.actor, cluster, edit, None).await.unwrap();
}

async fn targets(house: &House) -> usize {
    house.hub.release_list("web", &ListQuery::default()).await.unwrap().items.len()
}

async fn eventually(house: &House, said: &str) {
    for _ in 0..250 {
        if house.log().await.iter().any(|message| message.contains(said)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody said {said:?}: {:#?}", house.log().await);
}

/// Waits until the last decision says that these clusters lose the workload soon.
async fn until_leaving(house: &House, names: &[&str]) {
    for _ in 0..250 {
        let leaving = house.hub.placement_decision("web").await.unwrap().leaving;
        if leaving.iter().map(|one| &*one.name).eq(names.iter().copied()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:#?}", house.hub.placement_decision("web").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_9_a_cluster_that_joins_later_gets_it_with_the_next_publish_and_never_by_sync() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[("env", "prod")]).await;
    house.draft("web", labelled("env=prod")).await;
    house.publish("web").await;
    east.one().await;
    let mut west = house.cluster("west", &[("env", "prod")]).await;
    assert_eq!(house.hub.workload_sync(&house.actor, "web", &[]).await.unwrap(), 1);
    eventually(&house, "web goes to 1 of 2 clusters").await;
    assert_eq!(targets(&house).await, 1);
    let decision = house.hub.placement_decision("web").await.unwrap();
    let refused = decision.refused().next().unwrap();
    assert_eq!(refused.refusal().unwrap().remedy, "publish again, or set newMembers to auto");
    house.publish("web").await;
    west.one().await;
    assert_eq!(targets(&house).await, 2);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_6_a_cluster_that_no_longer_matches_keeps_it_for_a_while_and_lets_it_go_then() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[("env", "prod")]).await;
    house.draft("web", labelled("env=prod")).await;
    house.publish("web").await;
    let want = east.one().await;
    east.obey(&want).await;
    relabel(&house, "east", Some("dev")).await;
    eventually(&house, "web no longer matches east and leaves in 15 minutes").await;
    assert_eq!(state(&house, "web", "east").await, State::Healthy);
    until_leaving(&house, &["east"]).await;

    // A slip that is undone in time has taken nothing away.
    house.pass(600);
    relabel(&house, "east", Some("prod")).await;
    until_leaving(&house, &[]).await;

    relabel(&house, "east", Some("dev")).await;
    until_leaving(&house, &["east"]).await;
    house.pass(901);
    house.hub.cluster_heartbeat(east.id).await.unwrap();
    // Every workload is looked at every few minutes; this test does not wait for that.
    house
        .hub
        .group_save(&house.actor, ClusterGroup { name: "any".into(), ..ClusterGroup::default() }, None)
        .await
        .unwrap();
    let leave = east.until(|wants| matches!(wants.releases[0].goal, Goal::Absent { .. })).await;
    assert!(house.hub.release_view("web", "east").await.unwrap().message.contains("saw env=dev"));
    east.obey(&leave.releases[0]).await;
    assert_eq!(state(&house, "web", "east").await, State::Removed);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_6_a_person_keeps_it_on_a_cluster_that_no_longer_matches_until_the_next_publish() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[("env", "prod")]).await;
    let mut west = house.cluster("west", &[("env", "prod")]).await;
    house.draft("web", labelled("env=prod")).await;
    house.publish("web").await;
    let want = east.one().await;
    east.obey(&want).await;
    let want = west.one().await;
    west.obey(&want).await;
    let keep = async |clusters: &[&str]| {
        let clusters: Vec<String> = clusters.iter().map(|&name| name.to_owned()).collect();
        house.hub.workload_keep(&house.actor, "web", &clusters).await
    };
    let refused = keep(&["east"]).await.unwrap_err().to_string();
    assert_eq!(refused, "east is not about to lose web.");
    assert_eq!(keep(&[]).await.unwrap_err().to_string(), "No cluster is about to lose web.");

    relabel(&house, "east", Some("dev")).await;
    until_leaving(&house, &["east"]).await;
    assert_eq!(keep(&["east"]).await.unwrap(), ["east"]);
    eventually(&house, "web is kept on east until the next publish").await;
    assert_eq!(keep(&["east"]).await.unwrap(), [""; 0], "it is kept already");

    // Long after its time, and with another one about to leave, which is then not one too many at once.
    house.pass(901);
    house.hub.cluster_heartbeat(east.id).await.unwrap();
    relabel(&house, "west", Some("dev")).await;
    until_leaving(&house, &["east", "west"]).await;
    house.pass(901);
    house.hub.cluster_heartbeat(west.id).await.unwrap();
    house
        .hub
        .group_save(&house.actor, ClusterGroup { name: "any".into(), ..ClusterGroup::default() }, None)
        .await
        .unwrap();
    let leave = west.until(|wants| matches!(wants.releases[0].goal, Goal::Absent { .. })).await;
    west.obey(&leave.releases[0]).await;
    assert_eq!(state(&house, "web", "west").await, State::Removed);
    assert_eq!(house.hub.release_view("web", "east").await.unwrap().release.goal, ReleaseGoal::Present);

    // A publish is a person's word, and a later one.
    relabel(&house, "west", Some("prod")).await;
    let terms = Terms { confirm: Some(1), ..Terms::default() };
    house.hub.workload_publish(&house.actor, "web", "", terms).await.unwrap();
    east.until(|wants| matches!(wants.releases[0].goal, Goal::Absent { .. })).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e6_a_change_that_would_take_many_clusters_at_once_removes_nothing_without_a_person() {
    let house = House::open().await;
    let mut agents: Vec<Agent> = Vec::new();
    for name in ["a", "b", "c"] {
        agents.push(house.cluster(name, &[("env", "prod")]).await);
    }
    let group = |members: &[&str]| ClusterGroup {
        name: "shops".into(),
        members: members.iter().map(|name| (*name).to_owned()).collect(),
        ..ClusterGroup::default()
    };
    house.hub.group_save(&house.actor, group(&["a", "b", "c"]), None).await.unwrap();
    let of_group = Predicate { groups: vec!["shops".into()], ..Predicate::default() };
    house.draft("web", Placement { predicates: vec![of_group], ..Placement::default() }).await;
    house.publish("web").await;
    for agent in &mut agents {
        let want = agent.one().await;
        agent.obey(&want).await;
    }
    house.hub.group_save(&house.actor, group(&[]), None).await.unwrap();
    eventually(&house, "web no longer matches 3 clusters at once. Nothing was removed").await;
    for name in ["a", "b", "c"] {
        assert_eq!(state(&house, "web", name).await, State::Healthy);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_saved_now_touches_only_the_clusters_it_is_for() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    let mut west = house.cluster("west", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    for agent in [&mut east, &mut west] {
        let want = agent.one().await;
        agent.obey(&want).await;
    }
    let before = house.hub.release_view("web", "west").await.unwrap().release.generation;
    let change = Override {
        id: OverrideId::from_parts(1, 1),
        name: "east-colour".into(),
        target: Target { clusters: vec!["east".into()], ..Target::default() },
        priority: 500,
        patches: vec![Patch {
            object: Default::default(),
            op: PatchOp::Set { path: "/data/colour".into(), value: json!("green") },
        }],
    };
    house.hub.override_save(&house.actor, "web", change, true).await.unwrap();
    let want = east.until(|wants| wants.releases[0].generation > 1).await.releases.remove(0);
    let Goal::Present { bundle, revision, .. } = &want.goal else { panic!() };
    assert_eq!(*revision, 2);
    let bytes = house.hub.bundle(east.id, want.release, bundle).await.unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains("green"));
    east.obey(&want).await;
    let west_after = house.hub.release_view("web", "west").await.unwrap();
    assert_eq!((west_after.release.generation, west_after.state), (before, State::Healthy));
    house.close().await;
}
