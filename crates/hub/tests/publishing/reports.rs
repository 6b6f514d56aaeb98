//! Which reports are accepted.

use domain::release::ReleaseState;

use crate::release_state;
use crate::test_hub::{TestHub, applied_report, everywhere};

#[tokio::test(flavor = "multi_thread")]
async fn p9_replayed_reports_and_those_of_an_older_incarnation_are_rejected() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let desired = east.apply_release().await;
    east.seq -= 1;
    assert!(!east.send_report(applied_report(&desired)).await.accepted, "the same batch twice");

    let newer = test.hub.begin_agent_incarnation(east.id).await.unwrap();
    assert!(newer > east.incarnation);
    let mut broken = applied_report(&desired);
    broken.health.status = domain::health::HealthStatus::Degraded;
    assert!(!east.send_report(broken).await.accepted, "the incarnation was replaced");
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_can_neither_report_nor_read_another_clusters_release() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("east-1", &[]).await;
    test.publish_new("web", everywhere()).await;
    let (theirs, mine) = (east.wait_for_release().await, west.wait_for_release().await);
    assert!(
        west.send_report(applied_report(&theirs)).await.accepted,
        "the batch is accepted, the foreign release in it is not"
    );
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Queued);
    let domain::report::DesiredPhase::Present { bundle, .. } = &theirs.phase else { panic!() };
    assert!(test.hub.get_bundle(west.id, theirs.release, bundle).await.is_err());
    assert!(test.hub.get_bundle(west.id, mine.release, bundle).await.is_ok());
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_a_cluster_without_facts_are_an_error_and_none_is_recorded() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let desired = east.wait_for_release().await;
    test.execute_sql("DELETE FROM cluster_facts").await;
    east.seq += 1;
    let batch = domain::report::ReportBatch {
        incarnation: east.incarnation,
        seq: east.seq,
        facts: None,
        schema: None,
        leftovers: None,
        releases: vec![applied_report(&desired)],
    };
    let rejected = test.hub.record_reports(east.id, batch).await.unwrap_err();
    assert!(matches!(rejected, hub::Error::NotFound { .. }), "{rejected:?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_about_an_older_generation_changes_nothing() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let old = east.wait_for_release().await;
    test.edit_draft("web", |spec| spec.namespace = "other".into()).await;
    test.publish("web").await;
    let new = east
        .wait_for_desired_state(|desired_state| desired_state.releases[0].generation > old.generation)
        .await
        .releases
        .remove(0);
    east.send_report(applied_report(&old)).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Queued);
    east.report_applied(&new).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    test.close().await;
}
