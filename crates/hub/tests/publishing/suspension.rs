//! Suspended workloads, releases and clusters (docs/suspension.md).

use std::time::Duration;

use domain::operation::OperationStatus;
use domain::release::{ReleaseState, StageName, SyncStatus};
use domain::report::{DesiredPhase, ReleaseReport};
use domain::request::RemovalOptions;
use domain::rollout::RolloutState;
use domain::suspension::{ClusterSuspendRequest, ResumeRequest, SUSPENDED, SuspendRequest, SuspensionScope};
use hub::{Error, PublishOptions};
use serde_json::json;

use crate::release_state;
use crate::rollouts::{edit_draft, wait_for_revision, wait_for_rollout, wave_strategy};
use crate::test_hub::{CONFIG, TestHub, applied_report, everywhere, source, wait_for, wait_until};

fn request(clusters: &[&str]) -> SuspendRequest {
    let clusters = clusters.iter().map(|name| (*name).to_owned()).collect();
    SuspendRequest { reason: "handover".into(), clusters }
}

async fn suspend_cluster(test: &TestHub, name: &str) {
    let request = ClusterSuspendRequest { reason: "new disks".into() };
    test.hub.suspend_cluster(&test.actor, name, &request).await.unwrap();
}

/// Waits until the release wants this revision.
async fn wait_until_held(test: &TestHub, cluster: &str, revision: u32) {
    wait_until("the revision is held", async || {
        let view = test.hub.get_release("web", cluster).await;
        view.is_ok_and(|view| view.release.revision() == Some(revision))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_what_is_published_to_a_suspended_workload_waits_until_it_is_resumed_also_after_a_restart() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let first = east.apply_release().await;
    let suspended = test.hub.suspend_workload(&test.actor, "web", &request(&[])).await.unwrap();
    assert_eq!(suspended.suspension.as_ref().map(|one| one.reason.as_str()), Some("handover"));
    // An agent of an earlier version reads only `releases`: what is not there, it leaves as it is.
    let state = east.wait_for_desired_state(|state| state.releases.is_empty()).await;
    assert_eq!(state.suspended, std::slice::from_ref(&first));
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert_eq!(view.state, ReleaseState::Suspended);
    assert!(
        view.message.contains("suspended by flotilla since") && view.message.contains("handover"),
        "{view:?}"
    );
    let stage = view.release.stages().get(StageName::Released);
    assert_eq!(stage.state.reason().unwrap().reason.as_str(), "Suspended");

    test.edit_draft("web", |spec| spec.source = source(&CONFIG.replace("blue", "red"))).await;
    let published =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap();
    let warning = published.findings.iter().find(|finding| finding.code == SUSPENDED).unwrap();
    assert_eq!(warning.clusters, ["east"], "it says what will wait");
    wait_until_held(&test, "east", 2).await;
    let operation = wait_for("the operation is deferred", async || {
        let view = test.hub.get_operation(published.operation?).await.ok()?;
        let target = view.target_clusters.into_iter().next()?;
        (target.status == OperationStatus::Deferred).then_some(target)
    })
    .await;
    assert!(operation.error.unwrap().contains("handover"));
    let drifted = ReleaseReport { sync: SyncStatus::Drifted, ..applied_report(&first) };
    assert!(east.send_report(drifted).await.accepted);
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert_eq!((view.state, view.release.sync()), (ReleaseState::Suspended, SyncStatus::Drifted));
    let synced = test.hub.sync_workload(&test.actor, "web", &[]).await.unwrap_err();
    assert!(matches!(synced, Error::FailedPrecondition(_)), "{synced:?}");

    drop(east);
    let test = test.restart().await;
    let mut east = test.reconnect_agent("east").await;
    let state = test.hub.get_desired_state(east.id, -1, Duration::ZERO).await.unwrap();
    assert_eq!((state.releases.len(), state.suspended), (0, vec![first]), "with the first revision");
    let details = test.hub.get_workload_suspension("web").await.unwrap();
    assert_eq!(
        details.effects[0].describe(SuspensionScope::Workload),
        "web on east: revision 2 replaces revision 1, what drifts is reverted."
    );
    let resumed = test.hub.resume_workload(&test.actor, "web", &ResumeRequest::default()).await.unwrap();
    assert_eq!(resumed.effects, details.effects);
    let second = wait_for_revision(&mut east, 2).await;
    east.report_applied(&second).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    let again = test.hub.resume_workload(&test.actor, "web", &ResumeRequest::default()).await.unwrap_err();
    assert!(matches!(again, Error::FailedPrecondition(_)), "{again:?}");
    let log = test.event_messages().await;
    for expected in ["web was suspended: handover", "web was resumed."] {
        assert!(log.iter().any(|message| message == expected), "{expected}: {log:#?}");
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_a_suspended_cluster_neither_blocks_a_rollout_nor_counts_in_it() {
    let test = TestHub::open().await;
    let mut a = test.register_cluster("a", &[]).await;
    let mut b = test.register_cluster("b", &[]).await;
    test.publish_new("web", everywhere()).await;
    for agent in [&mut a, &mut b] {
        agent.apply_release().await;
    }
    suspend_cluster(&test, "a").await;
    let waves =
        json!([{ "name": "canary", "target": { "clusters": ["a"] }, "soak": "2m" }, { "name": "rest" }]);
    edit_draft(&test, wave_strategy(waves), "green").await;
    test.publish("web").await;
    let second = wait_for_revision(&mut b, 2).await;
    b.report_applied(&second).await;
    let rollout =
        wait_for_rollout(&test, "completed", |rollout| rollout.state == RolloutState::Completed).await;
    assert_eq!(rollout.waves.iter().map(|wave| wave.clusters).collect::<Vec<_>>(), [0, 1]);
    let view = test.hub.get_release("web", "a").await.unwrap();
    assert_eq!((view.state, view.release.released_revision()), (ReleaseState::Suspended, Some(1)));

    // A workload that is placed on it while it is suspended is not delivered either.
    test.create_draft("site", everywhere()).await;
    test.edit_draft("site", |spec| spec.source = source(&CONFIG.replace("settings", "site"))).await;
    test.publish("site").await;
    wait_until("the site is placed", async || test.hub.get_release("site", "a").await.is_ok()).await;
    assert_eq!(release_state(&test, "site", "a").await, ReleaseState::Suspended);
    let state = test.hub.get_desired_state(a.id, -1, Duration::ZERO).await.unwrap();
    assert_eq!((state.releases.len(), state.suspended.len()), (0, 1), "web in revision 1");
    let cluster = test.hub.get_cluster("a").await.unwrap();
    assert_eq!(cluster.suspension.unwrap().reason, "new disks");

    test.hub.resume_cluster(&test.actor, "a").await.unwrap();
    let state = a.wait_for_desired_state(|state| state.releases.len() == 2).await;
    assert!(state.suspended.is_empty());
    let is_second = |phase: &DesiredPhase| matches!(phase, DesiredPhase::Present { revision: 2, .. });
    wait_until("it is admitted", async || {
        let state = test.hub.get_desired_state(a.id, -1, Duration::ZERO).await.unwrap();
        state.releases.iter().any(|one| one.workload == "web" && is_second(&one.phase))
    })
    .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_a_release_that_is_suspended_twice_is_resumed_with_the_last_suspension() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[]).await;
    test.publish_new("web", everywhere()).await;
    for agent in [&mut east, &mut west] {
        agent.apply_release().await;
    }
    let missing = test.hub.suspend_workload(&test.actor, "web", &request(&["north"])).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing:?}");
    test.hub.suspend_workload(&test.actor, "web", &request(&["east"])).await.unwrap();
    suspend_cluster(&test, "east").await;
    assert_eq!(release_state(&test, "web", "west").await, ReleaseState::Healthy);
    let details = test.hub.resume_cluster(&test.actor, "east").await.unwrap();
    assert_eq!(
        details.effects[0].describe(SuspensionScope::Cluster),
        "web on east stays suspended: the workload is suspended on this cluster alone."
    );
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Suspended);
    let whole = test.hub.resume_workload(&test.actor, "web", &ResumeRequest::default()).await.unwrap_err();
    assert!(whole.to_string().contains("web is not suspended."), "{whole}");
    let east_only = ResumeRequest { clusters: vec!["east".into()] };
    test.hub.resume_workload(&test.actor, "web", &east_only).await.unwrap();
    wait_until("it is healthy again", async || {
        release_state(&test, "web", "east").await == ReleaseState::Healthy
    })
    .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_a_suspension_is_no_removal_and_an_unpublish_waits_for_its_end() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.apply_release().await;
    test.hub.suspend_workload(&test.actor, "web", &request(&[])).await.unwrap();
    // What an agent of an earlier version still has is no leftover that the hub removes.
    test.hub.unpublish_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let is_absent = |phase: &DesiredPhase| matches!(phase, DesiredPhase::Absent { .. });
    let state =
        east.wait_for_desired_state(|state| state.suspended.iter().any(|one| is_absent(&one.phase))).await;
    assert!(state.releases.is_empty(), "nothing is removed");
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert!(
        view.state == ReleaseState::Suspended && view.message.ends_with("Its removal waits."),
        "{view:?}"
    );
    let resumed = test.hub.resume_workload(&test.actor, "web", &ResumeRequest::default()).await.unwrap();
    assert_eq!(resumed.effects[0].describe(SuspensionScope::Workload), "web is removed from east.");
    let absent = east.wait_for_removal().await;
    east.report_applied(&absent).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Removed);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_a_suspended_workload_is_not_deleted_by_force_and_what_is_given_up_waits_for_its_end() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let first = east.apply_release().await;
    test.hub.suspend_workload(&test.actor, "web", &request(&[])).await.unwrap();
    test.advance_clock(200);
    wait_until("the cluster is offline", async || {
        release_state(&test, "web", "east").await == ReleaseState::Unknown
    })
    .await;
    let by_force = || RemovalOptions { force: true, ..RemovalOptions::default() };
    let refused = test.hub.delete_workload(&test.actor, "web", by_force()).await.unwrap_err();
    let is_refused = |why: &str| why.contains("Resume it first.") && why.contains("handover");
    assert!(matches!(&refused, Error::FailedPrecondition(why) if is_refused(&why.0)), "{refused:?}");

    test.hub.unpublish_workload(&test.actor, "web", by_force()).await.unwrap();
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Abandoned);
    let held = test.hub.get_desired_state(east.id, -1, Duration::ZERO).await.unwrap();
    assert_eq!((held.releases.len(), held.suspended.len()), (0, 1));
    assert_eq!(held.suspended[0].release, first.release);
    test.hub.resume_workload(&test.actor, "web", &ResumeRequest::default()).await.unwrap();
    let state = test.hub.get_desired_state(east.id, held.version, Duration::from_secs(60)).await.unwrap();
    assert!(state.version > held.version, "the agent hears of it");
    assert_eq!((state.releases.len(), state.suspended.len()), (1, 0));
    assert!(matches!(state.releases[0].phase, DesiredPhase::Absent { .. }), "{state:?}");
    test.close().await;
}
