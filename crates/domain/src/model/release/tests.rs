//! Every state of a release by example, its message, and its JSON.

use serde_json::{Value, json};

use super::stage::StageReason;
use super::*;
use crate::model::health::HealthStatus;
use crate::model::policy::NotAssessedPolicy;
use crate::model::report::{DesiredPhase, ReleaseReport, StageReport};
use crate::model::workload::{ConflictPolicy, DriftPolicy};

mod gates;
mod installation;
mod on_change;

pub(super) const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

pub(super) fn bundle(n: u8) -> Digest {
    Digest::compute(&[n])
}

/// A release of an online cluster without a desired revision.
pub(super) fn new_release() -> Release {
    let mut release = Release::new(
        ReleaseId::from_parts(1, 1),
        WorkloadId::from_parts(1, 2),
        ClusterId::from_parts(1, 3),
        at(0),
    );
    release.set_connectivity(Connectivity::Online, at(0));
    release
}

fn targeted_release() -> Release {
    let mut release = new_release();
    assert!(release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), Policies::default(), at(1)));
    release
}

fn stage_reason(reason: Reason, message: &str) -> StageReason {
    StageReason { attempts: 2, next_retry: Some(at(99)), ..StageReason::new(reason, message) }
}

/// A report about the current generation: stages before `stage` are done, `stage` is in `state`.
fn report(release: &Release, stage: StageName, state: StageState) -> ReleaseReport {
    let before = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent() && *name < stage);
    let done = before.map(|name| StageReport { name, state: StageState::Done });
    ReleaseReport {
        release: release.id,
        generation: release.generation,
        applied: (stage > StageName::Applied).then(|| release.released.clone()).flatten(),
        stages: done.chain([StageReport { name: stage, state }]).collect(),
        sync: if stage > StageName::Applied { SyncStatus::Synced } else { SyncStatus::Applying },
        health: Health::new(HealthStatus::Progressing, "Rolling", "Deployment web: 1 of 2 pods are ready."),
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: false,
    }
}

fn operational_report(release: &Release) -> ReleaseReport {
    ReleaseReport { health: Health::healthy(), ..report(release, StageName::Operational, StageState::Done) }
}

fn with_health(report: ReleaseReport, status: HealthStatus, message: &str) -> ReleaseReport {
    ReleaseReport { health: Health::new(status, "Because", message), ..report }
}

/// A targeted release after this report.
fn release_after(make: impl FnOnce(&Release) -> ReleaseReport) -> Release {
    let mut release = targeted_release();
    let report = make(&release);
    release.apply_report(&report, at(2)).unwrap();
    release
}

fn healthy_release() -> Release {
    release_after(operational_report)
}

fn removing_release() -> Release {
    let mut release = healthy_release();
    assert!(release.remove(DeletionPolicy::Foreground, "Unpublished by ann.", at(3)));
    release
}

#[track_caller]
fn assert_state(release: &Release, state: ReleaseState, message: &str) {
    assert_eq!((release.state(), release.message().as_str()), (state, message));
}

#[test]
fn s0_5_a_release_waits_until_it_is_rendered() {
    assert_state(
        &new_release(),
        ReleaseState::Pending,
        "Next: Guard rails passed and the revision is stored.",
    );
    let mut failed = new_release();
    let rendered = RenderOutcome::Failed(stage_reason(Reason::RenderFailed, "values.yaml is missing"));
    assert!(!failed.set_desired_revision(1, rendered, Policies::default(), at(1)));
    assert_state(&failed, ReleaseState::Failed, "values.yaml is missing");
    assert_eq!(failed.desired_release("web"), None);
    assert_eq!(failed.generation, 0);
}

#[test]
fn s0_6_a_released_bundle_is_queued_until_the_agent_is_notified() {
    let release = targeted_release();
    assert_state(&release, ReleaseState::Queued, "Next: The agent received the desired state.");
    let desired = release.desired_release("web").unwrap();
    let goal = DesiredPhase::Present { bundle: bundle(1), revision: 1, policies: Policies::default() };
    assert_eq!((desired.generation, desired.phase), (1, goal));
    let approved = release.stages.get(StageName::Approved);
    assert_eq!(approved.state, StageState::Skipped { message: "No approval is required.".into() });
}

#[test]
fn s0_7_the_agent_pulls_and_then_applies() {
    let running = |message: &str| StageState::Running { message: message.into() };
    let pulling = release_after(|r| report(r, StageName::Pulled, StageState::Pending));
    assert_state(
        &pulling,
        ReleaseState::Pulling,
        "Next: The agent fetched the bundle and verified its hash.",
    );
    for stage in [StageName::Preflight, StageName::Applied, StageName::Pruned] {
        let applying = release_after(|r| report(r, stage, running("3 of 7 objects")));
        assert_state(&applying, ReleaseState::Applying, "3 of 7 objects");
    }
}

#[test]
fn s0_8_what_is_applied_progresses_until_it_is_operational() {
    let pulling_images = release_after(|r| report(r, StageName::ImagesPulled, StageState::Pending));
    assert_state(&pulling_images, ReleaseState::Progressing, "Deployment web: 1 of 2 pods are ready.");
    let waiting = StageState::Waiting(stage_reason(Reason::from_cluster("PodPending"), "web-1 starts"));
    assert_state(
        &release_after(|r| report(r, StageName::Operational, waiting)),
        ReleaseState::Progressing,
        "web-1 starts",
    );
}

#[test]
fn s0_10_healthy_means_confirmed_for_the_released_bundle() {
    let release = healthy_release();
    assert_state(&release, ReleaseState::Healthy, "");
    assert_eq!(release.stages.current(), None);
    assert_eq!(release.applied, release.released);
    assert_eq!(release.stages.get(StageName::Confirmed).finished_at, Some(at(2)));
}

#[test]
fn an_operational_cluster_that_runs_another_bundle_is_stale() {
    let old = release_after(|r| ReleaseReport { applied: Some(bundle(9)), ..operational_report(r) });
    assert_state(&old, ReleaseState::Stale, "The cluster runs an older bundle than the desired one.");
    let stale = release_after(|r| ReleaseReport { sync: SyncStatus::Stale, ..operational_report(r) });
    assert_eq!(stale.state(), ReleaseState::Stale);
}

#[test]
fn s0_9_broken_objects_make_it_degraded_with_their_cause() {
    for status in [HealthStatus::Degraded, HealthStatus::Missing] {
        let broken = release_after(|r| {
            let failed =
                StageState::Failed(stage_reason(Reason::from_cluster("CrashLoop"), "Pod web-1 crashes."));
            with_health(report(r, StageName::Operational, failed), status, "Deployment web is broken.")
        });
        assert_state(&broken, ReleaseState::Degraded, "Pod web-1 crashes.");
    }
    // The health became worse after the confirmation: the confirmation is withdrawn.
    let worse =
        release_after(|r| with_health(operational_report(r), HealthStatus::Degraded, "Pod web-1 crashes."));
    assert_state(&worse, ReleaseState::Degraded, "Pod web-1 crashes.");
    assert!(!worse.stages.get(StageName::Confirmed).state.is_finished());
}

#[test]
fn s0_12_changed_objects_make_a_release_drifted_unless_its_health_is_worse() {
    let drifted = |r: &Release| ReleaseReport { sync: SyncStatus::Drifted, ..operational_report(r) };
    assert_state(
        &release_after(drifted),
        ReleaseState::Drifted,
        "Objects were changed on the cluster after they were applied.",
    );
    let broken =
        release_after(|r| with_health(drifted(r), HealthStatus::Missing, "Deployment web was deleted."));
    assert_state(&broken, ReleaseState::Degraded, "Deployment web was deleted.");
}

#[test]
fn s2_3_a_failed_stage_shows_its_reason_and_next_retry() {
    for stage in [StageName::Pulled, StageName::Preflight, StageName::Applied, StageName::Pruned] {
        let failed = release_after(|r| {
            report(r, stage, StageState::Failed(stage_reason(Reason::Invalid, "no such kind")))
        });
        assert_state(&failed, ReleaseState::Failed, "no such kind");
        let stage_reason = failed.stages.current().unwrap().state.reason().unwrap();
        assert_eq!((stage_reason.attempts, stage_reason.next_retry), (2, Some(at(99))));
    }
    let images = StageState::Failed(stage_reason(Reason::ImagePullFailed, ""));
    assert_state(
        &release_after(|r| report(r, StageName::ImagesPulled, images)),
        ReleaseState::Failed,
        "ImagePullFailed",
    );
}

#[test]
fn a_reason_that_only_a_person_can_resolve_blocks_the_release() {
    let blocking: Vec<&Reason> = Reason::NAMED.iter().filter(|reason| reason.needs_person()).collect();
    let names: Vec<&str> = blocking.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(names.join(" "), "HubBehind ResourceConflict ReleaseConflict ApplyConflict NotIdentical");
    for reason in blocking {
        for wrap in [StageState::Waiting, StageState::Failed] {
            let blocked = release_after(|r| {
                report(r, StageName::Preflight, wrap(stage_reason(reason.clone(), "belongs to helm")))
            });
            assert_state(&blocked, ReleaseState::Blocked, "belongs to helm");
        }
    }
}

#[test]
fn a_condition_of_a_custom_resource_never_blocks_a_release() {
    for reason in Reason::NAMED {
        for wrap in [StageState::Waiting, StageState::Failed] {
            let degraded = release_after(|r| {
                // As it arrives: JSON cannot tell it from the reason of the same name.
                let state = wrap(stage_reason(reason.clone(), "The Database orders is not ready."));
                let broken = report(r, StageName::Operational, state);
                with_health(broken, HealthStatus::Degraded, "The Database orders is not ready.")
            });
            assert_state(&degraded, ReleaseState::Degraded, "The Database orders is not ready.");
            let json = serde_json::to_string(&degraded).unwrap();
            let read: Release = serde_json::from_str(&json).unwrap();
            assert_eq!(read, degraded);
            assert_eq!(read.state(), ReleaseState::Degraded);
        }
    }
}

#[test]
fn a_paused_workload_is_suspended() {
    let paused = release_after(|r| {
        with_health(
            report(r, StageName::Operational, StageState::Pending),
            HealthStatus::Suspended,
            "Paused.",
        )
    });
    assert_state(&paused, ReleaseState::Suspended, "Paused.");
}

#[test]
fn s0_11_a_release_of_an_offline_cluster_is_unknown_and_keeps_its_last_known_state() {
    let mut release = healthy_release();
    assert!(release.set_connectivity(Connectivity::Late, at(4)));
    assert_eq!(release.state(), ReleaseState::Healthy);
    assert!(release.set_connectivity(Connectivity::Offline, at(5)));
    assert_state(&release, ReleaseState::Unknown, "The cluster is offline; last known state: Healthy.");
    assert_eq!(release.state_since, at(5));
    let view = ReleaseView::new(release.clone(), "web".into(), "eu-1".into(), "eu".into());
    assert_eq!((view.state, view.last_known_state), (ReleaseState::Unknown, Some(ReleaseState::Healthy)));
    assert!(!release.set_connectivity(Connectivity::Offline, at(6)));
    assert!(release.set_connectivity(Connectivity::Online, at(7)));
    assert_eq!((release.state(), release.state_since), (ReleaseState::Healthy, at(7)));
}

#[test]
fn s3_10_a_removal_continues_until_the_cluster_reports_that_nothing_is_left() {
    let mut release = removing_release();
    assert_state(&release, ReleaseState::Removing, "Unpublished by ann.");
    assert_eq!(
        release.desired_release("web").unwrap().phase,
        DesiredPhase::Absent { deletion: DeletionPolicy::Foreground, policies: Policies::default() }
    );
    let mut gone = report(&release, StageName::Pruned, StageState::Done);
    release.apply_report(&gone, at(4)).unwrap();
    assert_eq!(release.state(), ReleaseState::Removing);
    gone.removed = true;
    release.apply_report(&gone, at(5)).unwrap();
    assert_state(
        &release,
        ReleaseState::Removed,
        "All its objects are gone from the cluster. A namespace that Flotilla created for them stays.",
    );
    assert_eq!((release.desired_release("web"), release.applied.clone()), (None, None));
    assert_eq!(release.apply_report(&gone, at(6)), Err(ReportRejected::NotExpected));
}

#[test]
fn b16_a_removed_release_claims_only_what_is_gone() {
    let selective = Policies { deletion: DeletionPolicy::SelectivelyOrphan, ..Policies::default() };
    let own_namespace = Policies { create_namespace: false, ..Policies::default() };
    for (policies, message) in [
        (
            selective,
            "All its objects are gone from the cluster, except those that its deletion policy orphans. A namespace that Flotilla created for them stays.",
        ),
        (own_namespace, "All its objects are gone from the cluster."),
    ] {
        let mut release = removing_release();
        release.policies = policies;
        let mut gone = report(&release, StageName::Pruned, StageState::Done);
        gone.removed = true;
        release.apply_report(&gone, at(4)).unwrap();
        assert_state(&release, ReleaseState::Removed, message);
    }
}

#[test]
fn s3_12_objects_with_finalizers_make_a_removal_terminating() {
    let mut release = removing_release();
    let waiting =
        StageState::Waiting(stage_reason(Reason::FinalizerPending, "PVC data waits for its finalizer."));
    release.apply_report(&report(&release, StageName::Pruned, waiting), at(4)).unwrap();
    assert_state(&release, ReleaseState::Terminating, "PVC data waits for its finalizer.");
    let failed = StageState::Failed(stage_reason(Reason::ServerFailed, ""));
    release.apply_report(&report(&release, StageName::Pruned, failed), at(5)).unwrap();
    assert_state(&release, ReleaseState::Failed, "ServerFailed");
}

#[test]
fn a_removal_that_leaves_the_objects_makes_a_release_orphaned() {
    let mut release = healthy_release();
    release.remove(DeletionPolicy::Orphan, "", at(3));
    let gone = ReleaseReport { removed: true, ..report(&release, StageName::Pruned, StageState::Done) };
    release.apply_report(&gone, at(4)).unwrap();
    assert_state(&release, ReleaseState::Orphaned, "It was orphaned: its objects stay on the cluster.");
}

#[test]
fn p17_a_forced_deletion_abandons_a_removal_without_confirmation_of_the_cluster() {
    let mut release = removing_release();
    release.set_connectivity(Connectivity::Offline, at(4));
    assert_state(&release, ReleaseState::Unknown, "The cluster is offline; last known state: Removing.");
    assert!(release.abandon(at(5)));
    assert_state(
        &release,
        ReleaseState::Abandoned,
        "It was deleted by force without confirmation of the cluster; its objects may still exist there.",
    );
    assert!(!release.abandon(at(6)) && release.desired_release("web").is_none());
    assert!(!healthy_release().abandon(at(5)), "only a removal can be abandoned");
}

#[test]
fn a_removal_of_a_release_that_was_never_sent_completes_immediately() {
    let mut release = new_release();
    release.set_desired_revision(
        1,
        RenderOutcome::Failed(stage_reason(Reason::RenderFailed, "")),
        Policies::default(),
        at(1),
    );
    assert!(release.remove(DeletionPolicy::Foreground, "", at(2)));
    assert_eq!((release.state(), release.state_since), (ReleaseState::Removed, at(2)));
    assert!(!release.remove(DeletionPolicy::Foreground, "", at(3)));
}

#[test]
fn s4_5_the_same_bundle_changes_nothing_even_after_a_failed_rendering() {
    let mut release = healthy_release();
    assert!(!release.set_desired_revision(2, RenderOutcome::Bundle(bundle(1)), Policies::default(), at(3)));
    assert_eq!((release.revision, release.generation, release.state()), (Some(2), 1, ReleaseState::Healthy));
    assert!(!release.set_desired_revision(
        3,
        RenderOutcome::Failed(stage_reason(Reason::RenderFailed, "bad")),
        Policies::default(),
        at(4)
    ));
    assert_state(&release, ReleaseState::Failed, "bad");
    // The released bundle keeps running, and reports about it are still accepted.
    assert_eq!((&release.desired, &release.released), (&None, &Some(bundle(1))));
    release.apply_report(&operational_report(&release), at(5)).unwrap();
    assert_eq!(release.state(), ReleaseState::Failed);
    assert!(!release.set_desired_revision(4, RenderOutcome::Bundle(bundle(1)), Policies::default(), at(6)));
    assert_eq!((release.generation, release.state()), (1, ReleaseState::Healthy));
    let other =
        Policies { drift: DriftPolicy::Notify, conflict: ConflictPolicy::Force, ..Default::default() };
    assert!(release.set_desired_revision(4, RenderOutcome::Bundle(bundle(1)), other, at(7)));
    assert_eq!(
        (release.generation, release.sync, release.state()),
        (2, SyncStatus::Stale, ReleaseState::Queued)
    );
}

#[test]
fn a_failed_rendering_cancels_a_removal_but_restores_no_removed_release() {
    let failed = || RenderOutcome::Failed(stage_reason(Reason::RenderFailed, "bad"));
    let mut halfway = removing_release();
    assert!(halfway.set_desired_revision(2, failed(), Policies::default(), at(4)));
    assert_eq!((halfway.generation, halfway.state()), (3, ReleaseState::Failed));
    assert!(
        matches!(halfway.desired_release("web").unwrap().phase, DesiredPhase::Present { bundle: b, .. } if b == bundle(1))
    );

    let mut gone = removing_release();
    let report = ReleaseReport { removed: true, ..report(&gone, StageName::Pruned, StageState::Done) };
    gone.apply_report(&report, at(4)).unwrap();
    assert!(!gone.set_desired_revision(2, failed(), Policies::default(), at(5)));
    assert_eq!((gone.desired_release("web"), gone.state()), (None, ReleaseState::Failed));
    gone.remove(DeletionPolicy::Foreground, "", at(6));
    assert_eq!(gone.state(), ReleaseState::Removed);
}

#[test]
fn p16_late_future_and_unexpected_reports_change_nothing() {
    let mut release = targeted_release();
    release.set_desired_revision(2, RenderOutcome::Bundle(bundle(2)), Policies::default(), at(2));
    let before = release.clone();
    let report_of = |generation| ReleaseReport { generation, ..operational_report(&before) };
    assert_eq!(release.apply_report(&report_of(1), at(3)), Err(ReportRejected::OldGeneration));
    assert_eq!(release.apply_report(&report_of(3), at(3)), Err(ReportRejected::UnknownGeneration));
    assert_eq!(release, before);
    let mut unsent = new_release();
    assert_eq!(
        unsent.apply_report(&operational_report(&unsent.clone()), at(3)),
        Err(ReportRejected::NotExpected)
    );
}

#[test]
fn health_since_changes_only_with_the_health_status() {
    let mut release = healthy_release();
    release.apply_report(&operational_report(&release), at(9)).unwrap();
    assert_eq!((release.health.since, release.reported_at), (Some(at(2)), Some(at(9))));
    let worse = with_health(operational_report(&release), HealthStatus::Degraded, "");
    release.apply_report(&worse, at(10)).unwrap();
    assert_eq!(release.health.since, Some(at(10)));
}

#[test]
fn s1_21_a_sync_request_changes_only_the_nonce() {
    let mut release = healthy_release();
    let before = release.clone();
    release.request_sync();
    assert_eq!(release.desired_release("web").unwrap().sync_nonce, 1);
    assert_eq!(Release { sync_nonce: 0, ..release }, before);
}

#[test]
fn stages_in_json_are_flat_and_in_camel_case() {
    let release = release_after(|r| {
        let failed = StageState::Failed(stage_reason(Reason::Invalid, "no such kind"));
        report(r, StageName::Applied, failed)
    });
    let json = serde_json::to_value(&release).unwrap();
    let stages = json["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 13);
    let one = "1970-01-01T00:00:01.000Z";
    let two = "1970-01-01T00:00:02.000Z";
    assert_eq!(stages[0], json!({"name": "accepted", "state": "done", "startedAt": one, "finishedAt": one}));
    assert_eq!(
        stages[1],
        json!({"name": "approved", "state": "skipped", "message": "No approval is required.", "startedAt": one,
               "finishedAt": one})
    );
    assert_eq!(
        stages[8],
        json!({"name": "applied", "state": "failed", "reason": "Invalid", "message": "no such kind",
               "attempts": 2, "nextRetry": "1970-01-01T00:01:39.000Z", "startedAt": two})
    );
    assert_eq!(stages[10], json!({"name": "imagesPulled", "state": "pending"}));
    assert_eq!(json["goal"], json!({"type": "present"}));
    assert_eq!(serde_json::from_value::<Release>(json).unwrap(), release);
}

#[test]
fn a_list_other_than_the_stages_in_order_is_rejected() {
    let mut stages = serde_json::to_value(Stages::default()).unwrap();
    assert!(serde_json::from_value::<Stages>(stages.clone()).is_ok());
    stages.as_array_mut().unwrap().swap(0, 1);
    let error = serde_json::from_value::<Stages>(stages).unwrap_err();
    assert!(error.to_string().contains("not the stages in their order"));
    assert!(serde_json::from_value::<Stages>(Value::Array(Vec::new())).is_err());
}

#[test]
fn a_release_that_is_not_assessed_is_available_unless_its_policy_waits() {
    let is_available = |status, not_assessed| {
        let mut release = new_release();
        let policies = Policies { not_assessed, ..Policies::default() };
        release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), policies, at(1));
        let health = Health { status, ..Health::default() };
        let reported = ReleaseReport { health, ..operational_report(&release) };
        release.apply_report(&reported, at(2)).unwrap();
        release.is_available()
    };
    assert!(is_available(HealthStatus::NotAssessed, None), "a stored release without a value");
    assert!(is_available(HealthStatus::NotAssessed, Some(NotAssessedPolicy::Accept)));
    assert!(!is_available(HealthStatus::NotAssessed, Some(NotAssessedPolicy::Wait)));
    assert!(is_available(HealthStatus::Healthy, Some(NotAssessedPolicy::Wait)));
    assert!(!is_available(HealthStatus::Degraded, Some(NotAssessedPolicy::Accept)));
}
