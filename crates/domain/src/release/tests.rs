//! Every state of a release by example (`product.md` F.4), its sentence, and its JSON.

use serde_json::{Value, json};

use super::stage::Trouble;
use super::*;
use crate::health::HealthStatus;
use crate::report::{Goal, ReleaseReport, StageReport};
use crate::workload::{ConflictPolicy, DriftPolicy};

pub(super) const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

pub(super) fn bundle(n: u8) -> Digest {
    Digest::of(&[n])
}

/// A release of an online cluster that nobody has targeted yet.
pub(super) fn new() -> Release {
    let mut release = Release::new(
        ReleaseId::from_parts(1, 1),
        WorkloadId::from_parts(1, 2),
        ClusterId::from_parts(1, 3),
        at(0),
    );
    release.reached(Reach::Online, at(0));
    release
}

fn targeted() -> Release {
    let mut release = new();
    assert!(release.target(1, Rendered::Bundle(bundle(1)), Policies::default(), at(1)));
    release
}

fn trouble(reason: &str, message: &str) -> Trouble {
    Trouble { reason: reason.into(), message: message.into(), attempts: 2, next_retry: Some(at(99)) }
}

/// A report about the current generation: stages before `stage` are done, `stage` is as said.
fn report(release: &Release, stage: StageName, state: StageState) -> ReleaseReport {
    let before = StageName::ALL.into_iter().filter(|name| name.is_agents() && *name < stage);
    let done = before.map(|name| StageReport { name, state: StageState::Done });
    ReleaseReport {
        release: release.id,
        generation: release.generation,
        applied: (stage > StageName::Applied).then(|| release.released.clone()).flatten(),
        stages: done.chain([StageReport { name: stage, state }]).collect(),
        sync: if stage > StageName::Applied { Sync::Synced } else { Sync::Applying },
        health: Health::new(HealthStatus::Progressing, "Rolling", "Deployment web: 1 of 2 pods are ready."),
        resources: Vec::new(),
        drift: Vec::new(),
        gone: false,
    }
}

fn operational(release: &Release) -> ReleaseReport {
    ReleaseReport { health: Health::healthy(), ..report(release, StageName::Operational, StageState::Done) }
}

fn with_health(report: ReleaseReport, status: HealthStatus, message: &str) -> ReleaseReport {
    ReleaseReport { health: Health::new(status, "Because", message), ..report }
}

/// A targeted release after this report.
fn after(make: impl FnOnce(&Release) -> ReleaseReport) -> Release {
    let mut release = targeted();
    let report = make(&release);
    release.record(&report, at(2)).unwrap();
    release
}

fn healthy() -> Release {
    after(operational)
}

fn removing() -> Release {
    let mut release = healthy();
    assert!(release.remove(DeletionPolicy::Foreground, "Unpublished by ann.", at(3)));
    release
}

#[track_caller]
fn shows(release: &Release, state: State, message: &str) {
    assert_eq!((release.state(), release.message().as_str()), (state, message));
}

#[test]
fn s0_5_a_release_waits_until_it_is_rendered() {
    shows(&new(), State::Pending, "Next: Guard rails passed and the revision is stored.");
    let mut failed = new();
    let rendered = Rendered::Failed(trouble("RenderFailed", "values.yaml is missing"));
    assert!(!failed.target(1, rendered, Policies::default(), at(1)));
    shows(&failed, State::Failed, "values.yaml is missing");
    assert_eq!(failed.want("web"), None);
    assert_eq!(failed.generation, 0);
}

#[test]
fn s0_6_a_released_bundle_is_queued_until_the_agent_knows() {
    let release = targeted();
    shows(&release, State::Queued, "Next: The agent knows that there is something to do.");
    let want = release.want("web").unwrap();
    let goal = Goal::Present { bundle: bundle(1), revision: 1, policies: Policies::default() };
    assert_eq!((want.generation, want.goal), (1, goal));
    let approved = release.stages.get(StageName::Approved);
    assert_eq!(approved.state, StageState::Skipped { message: "No approval is asked for.".into() });
}

#[test]
fn s0_7_the_agent_pulls_and_then_applies() {
    let running = |message: &str| StageState::Running { message: message.into() };
    let pulling = after(|r| report(r, StageName::Pulled, StageState::Pending));
    shows(&pulling, State::Pulling, "Next: The agent holds the bundle and has checked its hash.");
    for stage in [StageName::Preflight, StageName::Applied, StageName::Pruned] {
        let applying = after(|r| report(r, stage, running("3 of 7 objects")));
        shows(&applying, State::Applying, "3 of 7 objects");
    }
}

#[test]
fn s0_8_what_is_applied_progresses_until_it_is_operational() {
    let pulling_images = after(|r| report(r, StageName::ImagesPulled, StageState::Pending));
    shows(&pulling_images, State::Progressing, "Deployment web: 1 of 2 pods are ready.");
    let waiting = StageState::Waiting(trouble("Starting", "web-1 starts"));
    shows(&after(|r| report(r, StageName::Operational, waiting)), State::Progressing, "web-1 starts");
}

#[test]
fn s0_10_healthy_means_confirmed_for_the_very_bundle_that_is_released() {
    let release = healthy();
    shows(&release, State::Healthy, "");
    assert_eq!(release.stages.current(), None);
    assert_eq!(release.applied, release.released);
    assert_eq!(release.stages.get(StageName::Confirmed).finished_at, Some(at(2)));
}

#[test]
fn an_operational_cluster_that_runs_another_bundle_is_stale() {
    let old = after(|r| ReleaseReport { applied: Some(bundle(9)), ..operational(r) });
    shows(&old, State::Stale, "The cluster runs an older bundle than the one it should run.");
    let said = after(|r| ReleaseReport { sync: Sync::Stale, ..operational(r) });
    assert_eq!(said.state(), State::Stale);
}

#[test]
fn s0_9_broken_objects_make_it_degraded_with_their_cause() {
    for status in [HealthStatus::Degraded, HealthStatus::Missing] {
        let broken = after(|r| {
            let failed = StageState::Failed(trouble("CrashLoop", "Pod web-1 crashes."));
            with_health(report(r, StageName::Operational, failed), status, "Deployment web is broken.")
        });
        shows(&broken, State::Degraded, "Pod web-1 crashes.");
    }
    // It was healthy, and got worse: the confirmation is taken back.
    let worse = after(|r| with_health(operational(r), HealthStatus::Degraded, "Pod web-1 crashes."));
    shows(&worse, State::Degraded, "Pod web-1 crashes.");
    assert!(!worse.stages.get(StageName::Confirmed).state.is_over());
}

#[test]
fn s0_12_changed_objects_make_it_drifted_unless_something_worse_is_so() {
    let drifted = |r: &Release| ReleaseReport { sync: Sync::Drifted, ..operational(r) };
    shows(&after(drifted), State::Drifted, "Somebody changed objects after they were applied.");
    let broken = after(|r| with_health(drifted(r), HealthStatus::Missing, "Deployment web was deleted."));
    shows(&broken, State::Degraded, "Deployment web was deleted.");
}

#[test]
fn s2_3_a_failed_stage_says_why_and_when_it_is_tried_again() {
    for stage in [StageName::Pulled, StageName::Preflight, StageName::Applied, StageName::Pruned] {
        let failed = after(|r| report(r, stage, StageState::Failed(trouble("ApplyFailed", "no such kind"))));
        shows(&failed, State::Failed, "no such kind");
        let trouble = failed.stages.current().unwrap().state.trouble().unwrap();
        assert_eq!((trouble.attempts, trouble.next_retry), (2, Some(at(99))));
    }
    let images = StageState::Failed(trouble("ImagePullFailed", ""));
    shows(&after(|r| report(r, StageName::ImagesPulled, images)), State::Failed, "ImagePullFailed");
}

#[test]
fn s2_5_what_only_a_person_can_clear_is_blocked() {
    for reason in ["ResourceConflict", "ApplyConflict", "WaitingForApproval", "BlastRadius", "HubBehind"] {
        for wrap in [StageState::Waiting, StageState::Failed] {
            let blocked =
                after(|r| report(r, StageName::Preflight, wrap(trouble(reason, "belongs to helm"))));
            shows(&blocked, State::Blocked, "belongs to helm");
        }
    }
}

#[test]
fn a_paused_workload_is_suspended() {
    let paused = after(|r| {
        with_health(
            report(r, StageName::Operational, StageState::Pending),
            HealthStatus::Suspended,
            "Paused.",
        )
    });
    shows(&paused, State::Suspended, "Paused.");
}

#[test]
fn s0_11_an_unreachable_cluster_is_unknown_and_keeps_what_was_last_known() {
    let mut release = healthy();
    assert!(release.reached(Reach::Late, at(4)));
    assert_eq!(release.state(), State::Healthy);
    assert!(release.reached(Reach::Offline, at(5)));
    shows(&release, State::Unknown, "The cluster is not heard from; last known: Healthy.");
    assert_eq!(release.state_since, at(5));
    let view = ReleaseView::new(release.clone(), "web".into(), "eu-1".into(), "eu".into());
    assert_eq!((view.state, view.last_known_state), (State::Unknown, Some(State::Healthy)));
    assert!(!release.reached(Reach::Offline, at(6)));
    assert!(release.reached(Reach::Online, at(7)));
    assert_eq!((release.state(), release.state_since), (State::Healthy, at(7)));
}

#[test]
fn s3_10_a_removal_goes_on_until_the_cluster_says_that_nothing_is_left() {
    let mut release = removing();
    shows(&release, State::Removing, "Unpublished by ann.");
    assert_eq!(
        release.want("web").unwrap().goal,
        Goal::Absent { deletion: DeletionPolicy::Foreground, policies: Policies::default() }
    );
    let mut gone = report(&release, StageName::Pruned, StageState::Done);
    release.record(&gone, at(4)).unwrap();
    assert_eq!(release.state(), State::Removing);
    gone.gone = true;
    release.record(&gone, at(5)).unwrap();
    shows(&release, State::Removed, "Nothing of it is left on the cluster.");
    assert_eq!((release.want("web"), release.applied.clone()), (None, None));
    assert_eq!(release.record(&gone, at(6)), Err(Dropped::Over));
}

#[test]
fn s3_12_objects_with_finalizers_make_it_terminating() {
    let mut release = removing();
    let held = StageState::Waiting(trouble("FinalizerPending", "PVC data waits for its finalizer."));
    release.record(&report(&release, StageName::Pruned, held), at(4)).unwrap();
    shows(&release, State::Terminating, "PVC data waits for its finalizer.");
    let failed = StageState::Failed(trouble("PruneFailed", ""));
    release.record(&report(&release, StageName::Pruned, failed), at(5)).unwrap();
    shows(&release, State::Failed, "PruneFailed");
}

#[test]
fn objects_left_on_purpose_make_it_orphaned() {
    let mut release = healthy();
    release.remove(DeletionPolicy::Orphan, "", at(3));
    let gone = ReleaseReport { gone: true, ..report(&release, StageName::Pruned, StageState::Done) };
    release.record(&gone, at(4)).unwrap();
    shows(&release, State::Orphaned, "Its objects were left on the cluster on purpose.");
}

#[test]
fn s1_23_force_gives_up_and_leaves_a_tombstone() {
    let mut release = removing();
    release.reached(Reach::Offline, at(4));
    shows(&release, State::Unknown, "The cluster is not heard from; last known: Removing.");
    assert!(release.abandon(at(5)));
    shows(
        &release,
        State::Abandoned,
        "Given up while the cluster could not be reached; its objects may still be there.",
    );
    assert!(!release.abandon(at(6)) && release.want("web").is_none());
    assert!(!healthy().abandon(at(5)), "only a removal can be given up");
}

#[test]
fn a_removal_of_what_was_never_sent_is_over_at_once() {
    let mut release = new();
    release.target(1, Rendered::Failed(trouble("RenderFailed", "")), Policies::default(), at(1));
    assert!(release.remove(DeletionPolicy::Foreground, "", at(2)));
    assert_eq!((release.state(), release.state_since), (State::Removed, at(2)));
    assert!(!release.remove(DeletionPolicy::Foreground, "", at(3)));
}

#[test]
fn s4_5_the_same_bundle_is_no_work_even_after_a_failed_rendering() {
    let mut release = healthy();
    assert!(!release.target(2, Rendered::Bundle(bundle(1)), Policies::default(), at(3)));
    assert_eq!((release.revision, release.generation, release.state()), (Some(2), 1, State::Healthy));
    assert!(!release.target(3, Rendered::Failed(trouble("RenderFailed", "bad")), Policies::default(), at(4)));
    shows(&release, State::Failed, "bad");
    // What runs goes on running, and its reports are still taken.
    assert_eq!((&release.desired, &release.released), (&None, &Some(bundle(1))));
    release.record(&operational(&release), at(5)).unwrap();
    assert_eq!(release.state(), State::Failed);
    assert!(!release.target(4, Rendered::Bundle(bundle(1)), Policies::default(), at(6)));
    assert_eq!((release.generation, release.state()), (1, State::Healthy));
    let other =
        Policies { drift: DriftPolicy::Notify, conflict: ConflictPolicy::TakeOver, ..Default::default() };
    assert!(release.target(4, Rendered::Bundle(bundle(1)), other, at(7)));
    assert_eq!((release.generation, release.sync, release.state()), (2, Sync::Stale, State::Queued));
}

#[test]
fn a_failed_rendering_brings_back_what_ran_but_nothing_that_was_gone() {
    let failed = || Rendered::Failed(trouble("RenderFailed", "bad"));
    let mut halfway = removing();
    assert!(halfway.target(2, failed(), Policies::default(), at(4)));
    assert_eq!((halfway.generation, halfway.state()), (3, State::Failed));
    assert!(matches!(halfway.want("web").unwrap().goal, Goal::Present { bundle: b, .. } if b == bundle(1)));

    let mut gone = removing();
    let report = ReleaseReport { gone: true, ..report(&gone, StageName::Pruned, StageState::Done) };
    gone.record(&report, at(4)).unwrap();
    assert!(!gone.target(2, failed(), Policies::default(), at(5)));
    assert_eq!((gone.want("web"), gone.state()), (None, State::Failed));
    gone.remove(DeletionPolicy::Foreground, "", at(6));
    assert_eq!(gone.state(), State::Removed);
}

#[test]
fn s3_7_late_future_and_uncalled_for_reports_change_nothing() {
    let mut release = targeted();
    release.target(2, Rendered::Bundle(bundle(2)), Policies::default(), at(2));
    let before = release.clone();
    let of = |generation| ReleaseReport { generation, ..operational(&before) };
    assert_eq!(release.record(&of(1), at(3)), Err(Dropped::Late));
    assert_eq!(release.record(&of(3), at(3)), Err(Dropped::FromTheFuture));
    assert_eq!(release, before);
    let mut unsent = new();
    assert_eq!(unsent.record(&operational(&unsent.clone()), at(3)), Err(Dropped::Over));
}

#[test]
fn health_is_as_old_as_its_word() {
    let mut release = healthy();
    release.record(&operational(&release), at(9)).unwrap();
    assert_eq!((release.health.since, release.reported_at), (Some(at(2)), Some(at(9))));
    let worse = with_health(operational(&release), HealthStatus::Degraded, "");
    release.record(&worse, at(10)).unwrap();
    assert_eq!(release.health.since, Some(at(10)));
}

#[test]
fn s1_21_a_wish_to_compare_now_changes_nothing_else() {
    let mut release = healthy();
    let before = release.clone();
    release.sync_now();
    assert_eq!(release.want("web").unwrap().sync_nonce, 1);
    assert_eq!(Release { sync_nonce: 0, ..release }, before);
}

#[test]
fn stages_in_json_are_flat_and_in_camel_case() {
    let release = after(|r| {
        let failed = StageState::Failed(trouble("ApplyFailed", "no such kind"));
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
        json!({"name": "approved", "state": "skipped", "message": "No approval is asked for.", "startedAt": one,
               "finishedAt": one})
    );
    assert_eq!(
        stages[8],
        json!({"name": "applied", "state": "failed", "reason": "ApplyFailed", "message": "no such kind",
               "attempts": 2, "nextRetry": "1970-01-01T00:01:39.000Z", "startedAt": two})
    );
    assert_eq!(stages[10], json!({"name": "imagesPulled", "state": "pending"}));
    assert_eq!(json["goal"], json!({"type": "present"}));
    assert_eq!(serde_json::from_value::<Release>(json).unwrap(), release);
}

#[test]
fn a_list_that_is_not_the_stages_in_their_order_is_refused() {
    let mut stages = serde_json::to_value(Stages::default()).unwrap();
    assert!(serde_json::from_value::<Stages>(stages.clone()).is_ok());
    stages.as_array_mut().unwrap().swap(0, 1);
    let error = serde_json::from_value::<Stages>(stages).unwrap_err();
    assert!(error.to_string().contains("not the stages in their order"));
    assert!(serde_json::from_value::<Stages>(Value::Array(Vec::new())).is_err());
}

fn turn() -> Trouble {
    Trouble {
        reason: "WaitingForWave".into(),
        message: "Waits for wave 2 of 2 (rest).".into(),
        ..Trouble::default()
    }
}

/// The second revision, rendered as this bundle.
fn next(n: u8) -> Next {
    Next { revision: 2, rendered: Rendered::Bundle(bundle(n)), policies: Policies::default() }
}

/// Healthy with the first bundle, and held back from the second.
fn held() -> Release {
    let mut release = healthy();
    assert!(!release.hold(next(2), turn(), at(5)));
    release
}

#[test]
fn a_cluster_that_waits_for_its_wave_keeps_what_it_has_and_says_so() {
    let mut release = held();
    assert!(release.is_held());
    assert_eq!(
        (release.state(), release.message()),
        (State::Pending, "Waits for wave 2 of 2 (rest).".into())
    );
    assert_eq!((release.revision, release.released_revision), (Some(2), Some(1)));
    let want = release.want("web").unwrap();
    assert_eq!(want.generation, 1);
    assert!(matches!(want.goal, Goal::Present { bundle: b, revision: 1, .. } if b == bundle(1)));
    // What runs there is reported on, and its trouble is louder than the wait.
    let report =
        with_health(operational(&release), HealthStatus::Degraded, "Deployment web: 0 of 2 pods are ready.");
    release.record(&report, at(6)).unwrap();
    assert_eq!(release.state(), State::Degraded);
    assert_eq!(release.message(), "Deployment web: 0 of 2 pods are ready.");
    assert!(release.is_held());
}

#[test]
fn a_cluster_whose_wave_opens_is_told_to_run_what_was_rendered_for_it() {
    let mut release = held();
    let policies = Policies { drift: DriftPolicy::Notify, ..Policies::default() };
    assert!(release.let_go(policies.clone(), at(9)));
    assert_eq!((release.state(), release.generation), (State::Queued, 2));
    assert_eq!((release.released, release.released_revision), (Some(bundle(2)), Some(2)));
    assert_eq!(release.policies, policies);
    let mut again = held();
    again.let_go(Policies::default(), at(9));
    assert!(!again.let_go(Policies::default(), at(10)), "once");
}

#[test]
fn what_a_cluster_has_already_waits_for_no_wave() {
    let mut release = healthy();
    assert!(!release.hold(next(1), turn(), at(5)));
    assert_eq!(
        (release.state(), release.is_held(), release.released_revision),
        (State::Healthy, false, Some(2))
    );
}

#[test]
fn a_cluster_of_an_ended_rollout_is_suspended_until_the_next_publish() {
    let mut release = held();
    let why = Trouble {
        reason: ROLLOUT_ENDED.into(),
        message: "The rollout of revision 2 was ended.".into(),
        ..Trouble::default()
    };
    assert!(release.end_hold(why, at(7)));
    assert_eq!(
        (release.state(), release.message()),
        (State::Suspended, "The rollout of revision 2 was ended.".into())
    );
    assert!(release.target(3, Rendered::Bundle(bundle(3)), Policies::default(), at(8)));
    assert_eq!(release.state(), State::Queued);
}

#[test]
fn a_removal_that_turns_into_a_wait_goes_back_to_what_ran() {
    let mut release = removing();
    assert!(release.hold(next(2), turn(), at(5)), "tell the cluster");
    assert!(matches!(release.want("web").unwrap().goal, Goal::Present { bundle: b, .. } if b == bundle(1)));
}
