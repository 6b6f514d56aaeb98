//! The desired state of a cluster on the hub: isolation, content, catch-up, finalizer (S3).

use domain::condition::ConditionType;
use domain::page::ListQuery;
use domain::policy::{DeletionPolicy, IgnoreRule, NotAssessedPolicy, Policies};
use domain::release::{FINALIZER, ReleaseState, ReleaseView};
use domain::report::DesiredPhase;
use domain::request::RemovalOptions;
use hub::{Error, PublishOptions};

use crate::test_hub::{TestHub, applied_report, everywhere, source, wait_until};

async fn publish_change(test: &TestHub, colour: u32) -> u32 {
    test.edit_draft("web", |spec| {
        spec.source = source(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  colour: \"{colour}\"\n"
        ))
    })
    .await;
    test.publish("web").await
}

fn has_condition(view: &ReleaseView, kind: ConditionType) -> bool {
    view.conditions.iter().any(|condition| condition.kind == kind && condition.is_true())
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_1_a_registered_cluster_has_its_own_desired_state_with_all_its_releases() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[]).await;
    assert!(
        east.next_desired_state().await.releases.is_empty(),
        "exists from the registration, and is empty"
    );
    test.publish_new("web", everywhere()).await;
    let (on_east, on_west) = (east.wait_for_release().await, west.wait_for_release().await);
    assert_ne!(on_east.release, on_west.release);
    for (name, desired) in [("east", &on_east), ("west", &on_west)] {
        assert_eq!(test.hub.get_cluster(name).await.unwrap().cluster.name, name);
        let releases = test.hub.list_cluster_releases(name, &ListQuery::default()).await.unwrap().items;
        assert_eq!(releases.len(), 1);
        assert_eq!((releases[0].cluster_name.as_str(), releases[0].release.id()), (name, desired.release));
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_2_a_bundle_is_the_list_of_the_desired_objects_of_a_cluster() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let desired = east.wait_for_release().await;
    let DesiredPhase::Present { bundle: digest, .. } = &desired.phase else { panic!("{desired:?}") };
    let bytes = test.hub.get_bundle(east.id, desired.release, digest).await.unwrap();
    let bundle = domain::bundle::Bundle::from_bytes(&bytes).unwrap();
    let names: Vec<String> = bundle.object_refs().map(|object| object.to_string()).collect();
    assert_eq!((bundle.digest(), names), (digest.clone(), vec!["ConfigMap shop/settings".to_owned()]));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_9_a_cluster_that_reconnects_receives_only_the_latest_desired_state() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let first = east.wait_for_release().await;
    east.report_applied(&first).await;
    let mut revision = 0;
    for colour in 0..4 {
        revision = publish_change(&test, colour).await;
    }
    let latest = |desired: &domain::report::DesiredRelease| matches!(desired.phase, DesiredPhase::Present { revision: at, .. } if at == revision);
    let desired = east
        .wait_for_desired_state(|desired_state| latest(&desired_state.releases[0]))
        .await
        .releases
        .remove(0);
    // A late report about the earlier generation changes nothing.
    east.send_report(applied_report(&first)).await;
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert!(!has_condition(&view, ConditionType::Applied), "an older bundle is not the desired one");
    east.report_applied(&desired).await;
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert_eq!((view.state, view.release.revision()), (ReleaseState::Healthy, Some(revision)));
    let applied = view.conditions.iter().find(|condition| condition.kind == ConditionType::Applied).unwrap();
    assert!(applied.is_true() && applied.observed_generation == Some(desired.generation));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_10_a_release_and_its_workload_exist_until_the_record_on_the_cluster_is_deleted() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.apply_release().await;
    test.hub.delete_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let absent =
        |desired: &domain::report::DesiredRelease| matches!(desired.phase, DesiredPhase::Absent { .. });
    let desired = east
        .wait_for_desired_state(|desired_state| desired_state.releases.first().is_some_and(absent))
        .await
        .releases
        .remove(0);
    // The objects are deleted, the record is not.
    let mut report = applied_report(&desired);
    report.removed = false;
    east.send_report(report).await;
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert_eq!(view.finalizers, [FINALIZER]);
    assert!(has_condition(&view, ConditionType::Deleting));
    east.report_applied(&desired).await;
    wait_until("the workload is deleted", async || {
        matches!(test.hub.get_workload("web").await, Err(Error::NotFound { .. }))
    })
    .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_part_of_the_desired_release_and_invalid_ones_are_rejected() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let set = async |policies: Policies| {
        test.edit_draft("web", |spec| spec.policies = policies).await;
    };
    let invalid = IgnoreRule { paths: vec!["$..image".into()], ..IgnoreRule::default() };
    set(Policies { ignore: vec![invalid], ..Policies::default() }).await;
    let rejected =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap_err();
    let Error::Invalid(findings) = rejected else { panic!("{rejected}") };
    let found = findings.iter().find(|finding| finding.code == "G517").unwrap();
    assert_eq!(found.path, "/policies/ignore/0/paths/0");
    let valid = Policies {
        deletion: DeletionPolicy::SelectivelyOrphan,
        orphan: vec![domain::overrides::ObjectSelector { kind: "Secret".into(), ..Default::default() }],
        executor: "web/deployer".into(),
        ttl_seconds_after_finished: Some(5),
        not_assessed: Some(NotAssessedPolicy::Wait),
        ..Policies::default()
    };
    set(valid.clone()).await;
    test.publish("web").await;
    let desired = east.wait_for_release().await;
    assert!(matches!(&desired.phase, DesiredPhase::Present { policies, .. } if *policies == valid));
    east.report_applied(&desired).await;
    test.hub.unpublish_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let leave = |desired: &domain::report::DesiredRelease| matches!(&desired.phase, DesiredPhase::Absent { deletion: DeletionPolicy::SelectivelyOrphan, policies } if *policies == valid);
    east.wait_for_desired_state(|desired_state| desired_state.releases.first().is_some_and(leave)).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_15_a_publish_without_clusters_is_rejected_and_the_draft_stays() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let rejected =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap_err();
    let Error::Invalid(findings) = rejected else { panic!("{rejected}") };
    let messages: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.is_blocking())
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(messages, ["No cluster is registered yet, so nothing can run anywhere."]);
    assert!(test.hub.get_workload("web").await.unwrap().workload.published.is_none());
    test.register_cluster("east", &[]).await;
    assert_eq!(test.publish("web").await, 1, "the same draft, once there is a cluster");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g516_data_that_a_publish_would_prune_is_a_finding_of_the_plan() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let write = async |text: &str| {
        test.edit_draft("web", |spec| spec.source = source(text)).await;
    };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n";
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n";
    write(&format!("{map}{claim}")).await;
    test.publish("web").await;
    write(map).await;
    let findings =
        test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await.unwrap().findings;
    let found = findings.iter().find(|finding| finding.code == "G516");
    assert!(found.is_some_and(|finding| finding.message.contains("not in the draft")), "{findings:#?}");
    test.close().await;
}
