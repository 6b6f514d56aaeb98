//! From publish to the last report, with the real store and the real loops.

use domain::bundle::Bundle;
use domain::page::ListQuery;
use domain::policy::{IgnoreRule, IgnoreWhen};
use domain::release::ReleaseState;
use domain::report::{DesiredPhase, DesiredState};
use domain::request::ClusterPatch;
use domain::request::RemovalOptions;
use domain::workload::{Intent, WorkloadPhase};
use hub::{Error, PublishOptions, RequestKey};

mod addons;
mod cluster_rollbacks;
mod dependencies;
mod desired_state;
mod draft_changes;
mod drift_inbox;
mod exposures;
mod fact_walks;
mod facts;
mod generated_values;
mod groups;
#[path = "../shared/helm_chart.rs"]
mod helm_chart;
mod incident_causes;
mod incidents;
mod override_limits;
mod overrides;
mod plan;
mod poison;
mod redaction;
mod rendered_facts;
mod repeated_requests;
mod reports;
mod retention;
mod rollbacks;
mod rollouts;
mod search;
mod selection;
mod sign_up;
mod silence;
mod statistics;
mod suspension;
mod targets;
mod test_hub;
mod turns;
mod unreadable_rows;
mod unreadable_workloads;

use test_hub::{CONFIG, TestHub, everywhere, source, wait_for, wait_until};

async fn release_state(test: &TestHub, workload: &str, cluster: &str) -> ReleaseState {
    test.hub.get_release(workload, cluster).await.unwrap().state
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_1_s0_10_a_published_workload_becomes_healthy_only_by_a_report_of_its_cluster() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    assert_eq!(test.hub.get_workload("web").await.unwrap().phase, WorkloadPhase::Draft);
    assert!(east.next_desired_state().await.releases.is_empty(), "saving is not deploying");

    assert_eq!(test.publish("web").await, 1);
    let desired = east.wait_for_release().await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Queued);
    let DesiredPhase::Present { bundle, revision, .. } = &desired.phase else { panic!("{desired:?}") };
    assert_eq!(*revision, 1);
    let bytes = test.hub.get_bundle(east.id, desired.release, bundle).await.unwrap();
    let pulled = Bundle::from_bytes(&bytes).unwrap();
    assert_eq!(&pulled.digest(), bundle);
    assert_eq!(pulled.objects[0]["metadata"]["namespace"], "shop");

    east.report_applied(&desired).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    assert_eq!(test.hub.get_workload("web").await.unwrap().phase, WorkloadPhase::Published);
    assert!(test.event_messages().await.contains(&"web on east: Queued → Healthy.".to_owned()));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_14_a_publish_with_errors_is_rejected_with_its_findings_and_stores_nothing() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    test.edit_draft("web", |spec| spec.source = source("kind: ConfigMap\nmetadata: {name: x}\n")).await;
    let rejected =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap_err();
    assert!(rejected.findings().iter().any(|finding| finding.code == "G109"), "{rejected:?}");
    let view = test.hub.get_workload("web").await.unwrap();
    assert_eq!((view.workload.intent, view.workload.published), (Intent::Draft, None));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_the_same_key_publishes_once_and_another_request_with_it_is_rejected() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let key = RequestKey { key: "k1".into(), request_hash: "h1".into() };
    let actor = test.actor.clone().with_request_key(key);
    assert_eq!(
        test.hub.publish_workload(&actor, "web", "", PublishOptions::default()).await.unwrap().revision,
        1
    );
    let again = test.hub.stored_response(&actor, "k1", "h1").await.unwrap().expect("the response was stored");
    assert!(again.body.contains("\"revision\":1"), "{}", again.body);
    // Without the look-up of the stored response: the key is unique, so nothing is stored twice.
    assert!(test.hub.publish_workload(&actor, "web", "", PublishOptions::default()).await.is_err());
    assert_eq!(test.hub.list_revisions(&actor, "web", &ListQuery::default()).await.unwrap().total, 1);
    assert!(matches!(test.hub.stored_response(&actor, "k1", "h2").await, Err(Error::IdempotencyKeyReused)));

    // The revision is stored in the transaction of the verb, with the response.
    let key = RequestKey { key: "k2".into(), request_hash: "h2".into() };
    let actor = test.actor.clone().with_request_key(key);
    let edit = hub::WorkloadEdit { owners: Some(vec!["ben".into()]), ..hub::WorkloadEdit::default() };
    let edited = test.hub.edit_workload(&actor, "web", edit, None).await.unwrap();
    let stored =
        test.hub.stored_response(&actor, "k2", "h2").await.unwrap().expect("the response was stored");
    assert_eq!(stored.headers.get("etag"), Some(&hub::format_etag(edited.revision)));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p26_a_revision_that_renders_the_same_bundle_changes_nothing_on_the_clusters() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let desired = east.apply_release().await;
    test.edit_draft("web", |spec| spec.source = source(&format!("# only a comment\n{CONFIG}"))).await;
    assert_eq!(test.publish("web").await, 2);
    let release = wait_for("the release has revision 2", async || {
        let release = test.hub.get_release("web", "east").await.unwrap();
        (release.release.revision() == Some(2)).then_some(release)
    })
    .await;
    assert_eq!((release.state, release.release.generation()), (ReleaseState::Healthy, desired.generation));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p26_a_revision_that_writes_ignored_fields_again_is_delivered_when_it_is_published() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let paths = vec!["/data/colour".to_owned()];
    let rule = IgnoreRule { when: IgnoreWhen::OnChange, paths, ..IgnoreRule::default() };
    test.edit_draft("web", |spec| spec.policies.ignore = vec![rule]).await;
    assert_eq!(test.publish("web").await, 1);
    let first = east.apply_release().await;
    test.edit_draft("web", |spec| spec.source = source(&format!("# only a comment\n{CONFIG}"))).await;
    assert_eq!(test.publish("web").await, 2);
    // Not with the next change of another workload, or with the next start of the agent.
    let second = east.wait_for_release().await;
    assert_eq!(second.generation, first.generation + 1);
    let DesiredPhase::Present { bundle, revision, .. } = &second.phase else { panic!("{second:?}") };
    assert_eq!(*revision, 2);
    assert!(matches!(&first.phase, DesiredPhase::Present { bundle: before, .. } if before == bundle));
    east.report_applied(&second).await;
    // Further passes over the same revision deliver nothing.
    test.run_placer().await;
    let release = test.hub.get_release("web", "east").await.unwrap();
    assert_eq!((release.state, release.release.generation()), (ReleaseState::Healthy, second.generation));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_based_on_an_older_revision_is_rejected() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let original = test.hub.get_workload("web").await.unwrap().workload;
    let mut first = original.draft.clone();
    first.namespace = "one".into();
    let edit = hub::WorkloadEdit { spec: Some(first), ..hub::WorkloadEdit::default() };
    test.hub.edit_workload(&test.actor, "web", edit.clone(), Some(original.revision)).await.unwrap();
    let mut late = edit.clone();
    late.spec.as_mut().unwrap().namespace = "two".into();
    let rejected = test.hub.edit_workload(&test.actor, "web", late, Some(original.revision)).await;
    assert!(matches!(rejected, Err(Error::RevisionConflict { current: 2 })), "{rejected:?}");
    assert_eq!(test.hub.get_workload("web").await.unwrap().workload.draft.namespace, "one");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_22_a_workload_is_deleted_once_every_cluster_has_removed_it() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[]).await;
    test.publish_new("web", everywhere()).await;
    for agent in [&mut east, &mut west] {
        agent.apply_release().await;
    }
    test.hub.delete_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let absent =
        |desired_state: &DesiredState| matches!(desired_state.releases[0].phase, DesiredPhase::Absent { .. });
    for agent in [&mut east, &mut west] {
        assert_eq!(test.hub.get_workload("web").await.unwrap().phase, WorkloadPhase::Deleting);
        let desired = agent.wait_for_desired_state(absent).await.releases.remove(0);
        agent.report_applied(&desired).await;
    }
    wait_until("the workload is deleted", async || {
        matches!(test.hub.get_workload("web").await, Err(Error::NotFound { .. }))
    })
    .await;
    assert!(east.next_desired_state().await.releases.is_empty());
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e5_releases_of_an_offline_cluster_are_unknown_with_their_last_known_state_until_it_reconnects() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.apply_release().await;
    test.advance_clock(200);
    let view = wait_for("the release is unknown", async || {
        let view = test.hub.get_release("web", "east").await.unwrap();
        (view.state == ReleaseState::Unknown).then_some(view)
    })
    .await;
    assert_eq!(view.last_known_state, Some(ReleaseState::Healthy));
    test.hub.record_heartbeat(east.id).await.unwrap();
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_edit_that_changes_nothing_stores_nothing() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[("env", "prod")]).await;
    let edit =
        ClusterPatch { labels: [("env".to_owned(), Some("prod".to_owned()))].into(), ..Default::default() };
    let cluster = test.hub.edit_cluster(&test.actor, "east", edit, None).await.unwrap();
    assert_eq!(cluster.revision, 1);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blank_draft_is_not_published() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    test.edit_draft("web", |spec| spec.source = source(" \n")).await;
    let rejected =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "There is nothing to publish yet: write or upload manifests, or choose a chart."
    );
    test.close().await;
}
