//! A workload whose draft can't be read: it is shown as broken and can be removed, and others are not affected.

use std::error::Error as _;
use std::time::Duration;

use domain::object::ObjectRef;
use domain::page::ListQuery;
use domain::policy::NotAssessedPolicy;
use domain::release::ReleaseState;
use domain::report::{DriftOutcome, DriftReport, ReleaseReport, ReportBatch};
use domain::request::RemovalOptions;
use domain::workload::{RemovedWorkload, WorkloadOrder, WorkloadPhase};
use domain::{Timestamp, report::DesiredRelease};
use hub::{Error, PublishOptions, WorkloadEdit};

use crate::release_state;
use crate::test_hub::{TestAgent, TestHub, applied_report, everywhere, wait_until};

/// A draft as an earlier version stored it: its JSON is nested deeper than can be read.
async fn break_draft(test: &TestHub, name: &str) {
    let deep = format!("{}1{}", "[".repeat(130), "]".repeat(130));
    test.execute_sql(&format!("UPDATE workload SET draft = '{deep}' WHERE name = '{name}'")).await;
}

/// Publishes `web` and `api` on the cluster `east`, which runs both; returns their desired releases.
async fn publish_two(test: &TestHub) -> (TestAgent, DesiredRelease, DesiredRelease) {
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let web = east.apply_release().await;
    test.publish_new("api", everywhere()).await;
    let both = east.wait_for_desired_state(|desired| desired.releases.len() == 2).await.releases;
    let api = both.into_iter().find(|release| release.release != web.release).unwrap();
    (east, web, api)
}

fn drift_report(desired: &DesiredRelease) -> ReleaseReport {
    let drift = DriftReport {
        object: ObjectRef { kind: "ConfigMap".into(), name: "settings".into(), ..ObjectRef::default() },
        fields: vec!["/data/colour".into()],
        values: Vec::new(),
        manager: "kubectl".into(),
        outcome: DriftOutcome::Healed,
        at: Timestamp::from_millis(0),
    };
    ReleaseReport { drift: vec![drift], ..applied_report(desired) }
}

async fn send(test: &TestHub, east: &mut TestAgent, releases: Vec<ReleaseReport>) -> Result<bool, Error> {
    east.seq += 1;
    let batch = ReportBatch {
        incarnation: east.incarnation,
        seq: east.seq,
        facts: None,
        schema: None,
        leftovers: None,
        releases,
    };
    Ok(test.hub.record_reports(east.id, batch).await?.accepted)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_drift_of_an_unreadable_workload_delays_no_report_of_its_cluster() {
    let test = TestHub::open().await;
    let (mut east, web, api) = publish_two(&test).await;
    break_draft(&test, "web").await;
    let batch = vec![drift_report(&web), applied_report(&api)];
    assert!(send(&test, &mut east, batch).await.unwrap());
    assert_eq!(release_state(&test, "api", "east").await, ReleaseState::Healthy);
    let messages = test.event_messages().await;
    let drifted = "ConfigMap settings on east: /data/colour changed by kubectl and reverted.".to_owned();
    assert!(messages.contains(&drifted), "{messages:?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_about_an_unreadable_release_delays_no_other_report_of_the_batch() {
    let test = TestHub::open().await;
    let (mut east, web, api) = publish_two(&test).await;
    let breaking = format!("UPDATE release SET goal = 'x' || goal WHERE id = '{}'", web.release);
    test.execute_sql(&breaking).await;
    let batch = vec![drift_report(&web), applied_report(&api)];
    assert!(send(&test, &mut east, batch).await.unwrap());
    assert_eq!(release_state(&test, "api", "east").await, ReleaseState::Healthy);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_workload_is_listed_as_broken_and_every_verb_says_why() {
    let test = TestHub::open().await;
    publish_two(&test).await;
    break_draft(&test, "web").await;
    let listed = test.hub.list_workloads(&ListQuery::default(), WorkloadOrder::Name).await.unwrap().items;
    assert_eq!((listed[0].name.as_str(), &listed[0].unreadable), ("api", &None));
    let why = listed[1].unreadable.clone().unwrap();
    assert!(why.contains("draft: unexpected JSON") && why.contains("delete the workload"), "{why}");

    let plan = test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await.unwrap_err();
    for error in [test.hub.get_workload("web").await.unwrap_err(), plan] {
        assert!(matches!(error, Error::Unreadable { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.starts_with("web can't be read: row "), "{message}");
        assert!(
            message.contains("draft: unexpected JSON") && message.contains("delete the workload"),
            "{message}"
        );
        assert!(error.source().is_some());
    }
    assert_eq!(test.hub.list_releases("web", &ListQuery::default()).await.unwrap().total, 1);

    test.execute_sql("UPDATE workload SET intent = 'archived' WHERE name = 'web'").await;
    let listed = test.hub.list_workloads(&ListQuery::default(), WorkloadOrder::Name).await.unwrap().items;
    assert_eq!((listed[1].name.as_str(), listed[1].phase), ("web", WorkloadPhase::Unreadable));
    assert!(listed[1].unreadable.as_ref().unwrap().contains("intent"), "{listed:?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_unreadable_draft_is_listed_as_broken() {
    let test = TestHub::open().await;
    publish_two(&test).await;
    let draft = format!("{}1{}", "[".repeat(130), " ".repeat(100_000));
    test.execute_sql(&format!("UPDATE workload SET draft = '{draft}' WHERE name = 'web'")).await;
    let listed = test.hub.list_workloads(&ListQuery::default(), WorkloadOrder::Name).await.unwrap().items;
    assert_eq!((listed[0].name.as_str(), &listed[0].unreadable), ("api", &None));
    assert!(listed[1].unreadable.as_ref().unwrap().contains("draft"), "{listed:?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_draft_is_mended_by_a_new_one_and_published() {
    let test = TestHub::open().await;
    let (mut east, web, _) = publish_two(&test).await;
    let spec = test.hub.get_workload("web").await.unwrap().workload.draft;
    assert_eq!(spec.policies.not_assessed, Some(NotAssessedPolicy::Wait));
    break_draft(&test, "web").await;
    // The policy that is left out is that of a new workload: what the broken draft said is not known.
    let mut sent = spec.clone();
    sent.policies.not_assessed = None;
    let edit = WorkloadEdit { spec: Some(sent), ..WorkloadEdit::default() };
    let stale = test.hub.edit_workload(&test.actor, "web", edit.clone(), Some(0)).await.unwrap_err();
    assert!(matches!(stale, Error::RevisionConflict { .. }), "{stale:?}");
    assert!(test.hub.get_workload("web").await.is_err(), "a rejected edit stores nothing");
    test.hub.edit_workload(&test.actor, "web", edit, None).await.unwrap();
    assert_eq!(test.hub.get_workload("web").await.unwrap().workload.draft, spec);
    test.edit_draft("web", |spec| spec.namespace = "other".into()).await;
    test.publish("web").await;
    let changed = |one: &DesiredRelease| one.release == web.release && one.generation > web.generation;
    let desired = east.wait_for_desired_state(|desired| desired.releases.iter().any(changed)).await;
    let web = desired.releases.into_iter().find(changed).unwrap();
    assert!(send(&test, &mut east, vec![applied_report(&web)]).await.unwrap());
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_with_an_unreadable_intent_can_be_deleted() {
    let test = TestHub::open().await;
    let (mut east, web, _) = publish_two(&test).await;
    test.execute_sql("UPDATE workload SET intent = 'archived' WHERE name = 'web'").await;
    test.hub.delete_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let removal = |one: &DesiredRelease| one.release == web.release && one.generation > web.generation;
    let desired = east.wait_for_desired_state(|desired| desired.releases.iter().any(removal)).await;
    let removal = desired.releases.into_iter().find(removal).unwrap();
    assert!(send(&test, &mut east, vec![applied_report(&removal)]).await.unwrap());
    wait_until("web is deleted", async || test.hub.get_workload("web").await.is_err()).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_workload_can_be_unpublished_and_deleted() {
    let test = TestHub::open().await;
    let (mut east, web, api) = publish_two(&test).await;
    send(&test, &mut east, vec![applied_report(&api)]).await.unwrap();
    break_draft(&test, "web").await;
    // The published revision has the same content.
    let deep = "[".repeat(130);
    test.execute_sql(&format!("UPDATE revision SET spec = '{deep}' WHERE workload_id IN (SELECT id FROM workload WHERE name = 'web')")).await;
    let removed = test.hub.unpublish_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    assert!(matches!(removed, RemovedWorkload::Head(_)), "{removed:?}");
    let absent = east
        .wait_for_desired_state(|desired| {
            desired
                .releases
                .iter()
                .any(|release| release.release == web.release && release.generation > web.generation)
        })
        .await;
    let absent = absent.releases.into_iter().find(|release| release.release == web.release).unwrap();
    assert!(send(&test, &mut east, vec![applied_report(&absent)]).await.unwrap());
    test.hub.delete_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    wait_until("web is deleted", async || {
        let listed = test.hub.list_workloads(&ListQuery::default(), WorkloadOrder::Name).await.unwrap().items;
        listed.iter().all(|one| one.name != "web")
    })
    .await;
    assert_eq!(release_state(&test, "api", "east").await, ReleaseState::Healthy);
    let desired = test.hub.get_desired_state(east.id, -1, Duration::ZERO).await.unwrap();
    assert!(desired.releases.iter().any(|release| release.release == api.release));
    test.close().await;
}
