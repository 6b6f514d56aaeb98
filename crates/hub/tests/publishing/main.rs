//! From the call to publish to the last confirmation, through the real store and the real loops.

use std::time::Duration;

use domain::bundle::Bundle;
use domain::page::ListQuery;
use domain::release::State;
use domain::report::{Goal, Wants};
use domain::workload::{Intent, Phase};
use hub::{ClusterEdit, Error, Removal, RequestKey, Terms};

mod addons;
mod exposures;
mod facts;
mod house;
mod plan;
mod reports;
mod rollouts;
mod targets;
mod work;

use house::{CONFIG, House, everywhere, source};

async fn state(house: &House, workload: &str, cluster: &str) -> State {
    house.hub.release_view(workload, cluster).await.unwrap().state
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_1_s0_10_a_published_workload_becomes_healthy_only_by_the_clusters_own_word() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    assert_eq!(house.hub.workload_view("web").await.unwrap().phase, Phase::Draft);
    assert!(east.next().await.releases.is_empty(), "saving is not deploying");

    assert_eq!(house.publish("web").await, 1);
    let want = east.one().await;
    assert_eq!(state(&house, "web", "east").await, State::Queued);
    let Goal::Present { bundle, revision, .. } = &want.goal else { panic!("{want:?}") };
    assert_eq!(*revision, 1);
    let bytes = house.hub.bundle(east.id, want.release, bundle).await.unwrap();
    let pulled = Bundle::from_bytes(&bytes).unwrap();
    assert_eq!(&pulled.digest(), bundle);
    assert_eq!(pulled.objects[0]["metadata"]["namespace"], "shop");

    east.obey(&want).await;
    assert_eq!(state(&house, "web", "east").await, State::Healthy);
    assert_eq!(house.hub.workload_view("web").await.unwrap().phase, Phase::Published);
    assert!(house.log().await.contains(&"web on east: Queued → Healthy.".to_owned()));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_14_a_publish_with_errors_is_refused_with_its_findings_and_stores_nothing() {
    let house = House::open().await;
    house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    spec.source = source("kind: ConfigMap\nmetadata: {name: x}\n");
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    let refused = house.hub.workload_publish(&house.actor, "web", "", Terms::default()).await.unwrap_err();
    assert!(refused.findings().iter().any(|finding| finding.code == "G109"), "{refused:?}");
    let view = house.hub.workload_view("web").await.unwrap();
    assert_eq!((view.workload.intent, view.workload.published), (Intent::Draft, None));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_the_same_key_publishes_once_and_another_request_under_it_is_refused() {
    let house = House::open().await;
    house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let key = RequestKey { key: "k1".into(), request_hash: "h1".into() };
    let actor = house.actor.clone().asking(key);
    assert_eq!(house.hub.workload_publish(&actor, "web", "", Terms::default()).await.unwrap().revision, 1);
    let again = house.hub.replay(&actor, "k1", "h1").await.unwrap().expect("the answer was kept");
    assert!(again.body.contains("\"revision\":1"), "{}", again.body);
    // Even two at once: the second finds the key taken and stores nothing.
    assert!(house.hub.workload_publish(&actor, "web", "", Terms::default()).await.is_err());
    assert_eq!(house.hub.workload_revisions("web", &ListQuery::default()).await.unwrap().total, 1);
    assert!(matches!(house.hub.replay(&actor, "k1", "h2").await, Err(Error::KeyReused)));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p26_a_revision_that_renders_the_same_is_no_work_for_the_clusters() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let want = east.one().await;
    east.obey(&want).await;
    let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    spec.source = source(&format!("# only a comment\n{CONFIG}"));
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    assert_eq!(house.publish("web").await, 2);
    for _ in 0..200 {
        let release = house.hub.release_view("web", "east").await.unwrap();
        if release.release.revision == Some(2) {
            assert_eq!((release.state, release.release.generation), (State::Healthy, want.generation));
            house.close().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("revision 2 never reached the release");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_on_an_older_revision_than_there_is_loses_nothing_and_says_so() {
    let house = House::open().await;
    house.draft("web", everywhere()).await;
    let seen = house.hub.workload_view("web").await.unwrap().workload;
    let mut first = seen.draft.clone();
    first.namespace = "one".into();
    let edit = hub::WorkloadEdit { spec: Some(first), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit.clone(), Some(seen.revision)).await.unwrap();
    let mut late = edit.clone();
    late.spec.as_mut().unwrap().namespace = "two".into();
    let refused = house.hub.workload_edit(&house.actor, "web", late, Some(seen.revision)).await;
    assert!(matches!(refused, Err(Error::Changed { current: 2 })), "{refused:?}");
    assert_eq!(house.hub.workload_view("web").await.unwrap().workload.draft.namespace, "one");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_22_a_deleted_workload_is_forgotten_once_every_cluster_has_let_it_go() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    let mut west = house.cluster("west", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    for agent in [&mut east, &mut west] {
        let want = agent.one().await;
        agent.obey(&want).await;
    }
    house.hub.workload_delete(&house.actor, "web", Removal::default()).await.unwrap();
    let absent = |wants: &Wants| matches!(wants.releases[0].goal, Goal::Absent { .. });
    for agent in [&mut east, &mut west] {
        assert_eq!(house.hub.workload_view("web").await.unwrap().phase, Phase::Deleting);
        let want = agent.until(absent).await.releases.remove(0);
        agent.obey(&want).await;
    }
    for _ in 0..200 {
        if matches!(house.hub.workload_view("web").await, Err(Error::NotFound { .. })) {
            assert!(east.next().await.releases.is_empty());
            house.close().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the workload was never forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn e5_a_silent_cluster_becomes_unknown_keeps_what_was_known_and_returns() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let want = east.one().await;
    east.obey(&want).await;
    house.pass(200);
    for _ in 0..400 {
        let view = house.hub.release_view("web", "east").await.unwrap();
        if view.state == State::Unknown {
            assert_eq!(view.last_known_state, Some(State::Healthy));
            house.hub.cluster_heartbeat(east.id).await.unwrap();
            assert_eq!(state(&house, "web", "east").await, State::Healthy);
            house.close().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the cluster never became unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_edit_that_changes_nothing_stores_nothing() {
    let house = House::open().await;
    house.cluster("east", &[("env", "prod")]).await;
    let edit =
        ClusterEdit { labels: [("env".to_owned(), Some("prod".to_owned()))].into(), ..Default::default() };
    let cluster = house.hub.cluster_edit(&house.actor, "east", edit, None).await.unwrap();
    assert_eq!(cluster.revision, 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blank_page_is_not_published_over_what_runs() {
    let house = House::open().await;
    house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    spec.source = source(" \n");
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    let refused = house.hub.workload_publish(&house.actor, "web", "", Terms::default()).await.unwrap_err();
    assert!(refused.to_string().contains("still empty"), "{refused}");
    house.close().await;
}
