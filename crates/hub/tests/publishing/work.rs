//! The hub's side of what a cluster should hold: its own place, its list, its finalizer, its catch-up (S3).

use domain::condition::ConditionType;
use domain::page::ListQuery;
use domain::policy::{DeletionPolicy, IgnoreRule, Policies};
use domain::release::{FINALIZER, ReleaseView, State};
use domain::report::Goal;
use hub::{Error, Removal, Terms, WorkloadEdit};

use crate::house::{House, everywhere, obeyed, source};

async fn change(house: &House, colour: u32) -> u32 {
    let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    spec.source = source(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  colour: \"{colour}\"\n"
    ));
    let edit = WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    house.publish("web").await
}

fn is(view: &ReleaseView, kind: ConditionType) -> bool {
    view.conditions.iter().any(|condition| condition.kind == kind && condition.is_true())
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_1_a_registered_cluster_has_a_place_of_its_own_by_its_name_that_holds_everything_of_it() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    let mut west = house.cluster("west", &[]).await;
    assert!(east.next().await.releases.is_empty(), "there from the registration on, and empty");
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let (here, there) = (east.one().await, west.one().await);
    assert_ne!(here.release, there.release);
    for (name, want) in [("east", &here), ("west", &there)] {
        assert_eq!(house.hub.cluster_view(name).await.unwrap().cluster.name, name);
        let held = house.hub.cluster_releases(name, &ListQuery::default()).await.unwrap().items;
        assert_eq!(held.len(), 1);
        assert_eq!((held[0].cluster_name.as_str(), held[0].release.id), (name, want.release));
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_2_what_is_dispatched_to_a_cluster_is_the_list_of_the_objects_it_should_hold() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let want = east.one().await;
    let Goal::Present { bundle: digest, .. } = &want.goal else { panic!("{want:?}") };
    let bytes = house.hub.bundle(east.id, want.release, digest).await.unwrap();
    let bundle = domain::bundle::Bundle::from_bytes(&bytes).unwrap();
    let names: Vec<String> = bundle.refs().map(|object| object.to_string()).collect();
    assert_eq!((bundle.digest(), names), (digest.clone(), vec!["ConfigMap shop/settings".to_owned()]));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_9_a_cluster_that_was_away_is_told_the_latest_and_nothing_in_between() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let first = east.one().await;
    east.obey(&first).await;
    let mut revision = 0;
    for colour in 0..4 {
        revision = change(&house, colour).await;
    }
    let latest = |want: &domain::report::Want| matches!(want.goal, Goal::Present { revision: at, .. } if at == revision);
    let want = east.until(|wants| latest(&wants.releases[0])).await.releases.remove(0);
    // What it says about the want it had is late: it changes nothing.
    east.send(obeyed(&first)).await;
    let view = house.hub.release_view("web", "east").await.unwrap();
    assert!(!is(&view, ConditionType::Applied), "an older bundle is not what is wanted");
    east.obey(&want).await;
    let view = house.hub.release_view("web", "east").await.unwrap();
    assert_eq!((view.state, view.release.revision), (State::Healthy, Some(revision)));
    let applied = view.conditions.iter().find(|condition| condition.kind == ConditionType::Applied).unwrap();
    assert!(applied.is_true() && applied.observed_generation == Some(want.generation));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_10_a_release_and_its_workload_are_held_until_the_record_on_the_cluster_is_gone() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let want = east.one().await;
    east.obey(&want).await;
    house.hub.workload_delete(&house.actor, "web", Removal::default()).await.unwrap();
    let absent = |want: &domain::report::Want| matches!(want.goal, Goal::Absent { .. });
    let want = east.until(|wants| wants.releases.first().is_some_and(absent)).await.releases.remove(0);
    // The objects are gone, the record is not.
    let mut almost = obeyed(&want);
    almost.gone = false;
    east.send(almost).await;
    let view = house.hub.release_view("web", "east").await.unwrap();
    assert_eq!(view.finalizers, [FINALIZER]);
    assert!(is(&view, ConditionType::Deleting));
    east.obey(&want).await;
    for _ in 0..400 {
        if matches!(house.hub.workload_view("web").await, Err(Error::NotFound { .. })) {
            return house.close().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the workload was never forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_reach_the_agent_with_every_want_and_bad_ones_are_refused() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let set = async |policies: Policies| {
        let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
        spec.policies = policies;
        let edit = WorkloadEdit { spec: Some(spec), labels: None };
        house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    };
    let bad = IgnoreRule { paths: vec!["$..image".into()], ..IgnoreRule::default() };
    set(Policies { ignore: vec![bad], ..Policies::default() }).await;
    let refused = house.hub.workload_publish(&house.actor, "web", "", Terms::default()).await.unwrap_err();
    let Error::Invalid(findings) = refused else { panic!("{refused}") };
    let found = findings.iter().find(|finding| finding.code == "G517").unwrap();
    assert_eq!(found.path, "/policies/ignore/0/paths/0");
    let good = Policies {
        deletion: DeletionPolicy::SelectivelyOrphan,
        orphan: vec![domain::overrides::ObjectSelector { kind: "Secret".into(), ..Default::default() }],
        executor: "web/deployer".into(),
        ttl_seconds_after_finished: Some(5),
        ..Policies::default()
    };
    set(good.clone()).await;
    house.publish("web").await;
    let want = east.one().await;
    assert!(matches!(&want.goal, Goal::Present { policies, .. } if *policies == good));
    east.obey(&want).await;
    house.hub.workload_unpublish(&house.actor, "web", Removal::default()).await.unwrap();
    let leave = |want: &domain::report::Want| matches!(&want.goal, Goal::Absent { deletion: DeletionPolicy::SelectivelyOrphan, policies } if *policies == good);
    east.until(|wants| wants.releases.first().is_some_and(leave)).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_15_a_fleet_without_clusters_is_explained_and_the_draft_is_kept() {
    let house = House::open().await;
    house.draft("web", everywhere()).await;
    let refused = house.hub.workload_publish(&house.actor, "web", "", Terms::default()).await.unwrap_err();
    let Error::Invalid(findings) = refused else { panic!("{refused}") };
    let told: Vec<&str> =
        findings.iter().filter(|one| one.blocks()).map(|one| one.message.as_str()).collect();
    assert_eq!(told, ["No cluster is registered yet, so nothing can run anywhere."]);
    assert!(house.hub.workload_view("web").await.unwrap().workload.published.is_none());
    house.cluster("east", &[]).await;
    assert_eq!(house.publish("web").await, 1, "the same draft, once there is a cluster");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g516_data_that_a_publish_would_prune_is_told_before() {
    let house = House::open().await;
    house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    let write = async |text: &str| {
        let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
        spec.source = source(text);
        let edit = WorkloadEdit { spec: Some(spec), labels: None };
        house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n";
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n";
    write(&format!("{map}{claim}")).await;
    house.publish("web").await;
    write(map).await;
    let findings = house.hub.plan_make(&house.actor, "web").await.unwrap().findings;
    let told = findings.iter().find(|finding| finding.code == "G516");
    assert!(told.is_some_and(|finding| finding.message.contains("no longer in this one")), "{findings:#?}");
    house.close().await;
}
