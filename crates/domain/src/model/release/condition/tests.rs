//! Conditions of example releases and objects.

use super::*;
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::kubernetes::object::ObjectRef;
use crate::kubernetes::time::Timestamp;
use crate::model::health::Health;
use crate::model::policy::{DeletionPolicy, Policies};
use crate::model::release::Reason;
use crate::model::release::stage::StageReason;
use crate::model::release::{FINALIZER, ReleaseView, RenderOutcome};
use crate::model::report::{ReleaseReport, StageReport, TransitionTimes};
use crate::text::finding::Finding;

const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn targeted_release() -> Release {
    let ids = (ReleaseId::from_parts(1, 1), WorkloadId::from_parts(1, 2), ClusterId::from_parts(1, 3));
    let mut release = Release::new(ids.0, ids.1, ids.2, at(0));
    release.set_connectivity(Connectivity::Online, at(0));
    release.set_desired_revision(1, RenderOutcome::Bundle(Digest::compute(b"1")), Policies::default(), at(1));
    release
}

/// A report in which the stages before `stage` are done and `stage` has this state.
fn report(release: &Release, stage: StageName, state: StageState) -> ReleaseReport {
    let before = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent() && *name < stage);
    let done = before.map(|name| StageReport { name, state: StageState::Done });
    ReleaseReport {
        release: release.id(),
        generation: release.generation(),
        applied: (stage > StageName::Applied).then(|| release.released().cloned()).flatten(),
        stages: done.chain([StageReport { name: stage, state }]).collect(),
        sync: if stage > StageName::Applied { SyncStatus::Synced } else { SyncStatus::Applying },
        health: Health::healthy(),
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: false,
    }
}

fn operational_release() -> Release {
    let mut release = targeted_release();
    release.apply_report(&report(&release, StageName::Operational, StageState::Done), at(3)).unwrap();
    release
}

/// Every stage of the agent is done, and then the health is this.
fn release_with_health(health: Health) -> Release {
    let mut release = operational_release();
    let report = report(&release, StageName::Operational, StageState::Done);
    release.apply_report(&ReleaseReport { health, ..report }, at(3)).unwrap();
    release
}

fn find_condition(release: &Release, kind: ConditionType) -> Condition {
    release_conditions(release, &[]).into_iter().find(|condition| condition.kind == kind).unwrap()
}

fn stage_reason(reason: Reason, message: &str) -> StageReason {
    StageReason::new(reason, message)
}

fn resource(name: &str, available: Option<bool>) -> ResourceStatus {
    ResourceStatus {
        object: ObjectRef {
            version: "v1".into(),
            kind: "Secret".into(),
            name: name.into(),
            ..Default::default()
        },
        applied: available == Some(true),
        available,
        health: Health::healthy(),
        since: TransitionTimes { applied: Some(at(4)), available: Some(at(5)), drifted: None },
        ..ResourceStatus::default()
    }
}

#[test]
fn s3_4_applied_is_true_only_for_the_generation_that_the_cluster_reported() {
    let mut release = operational_release();
    let applied = find_condition(&release, ConditionType::Applied);
    assert_eq!(
        (applied.status, applied.reason.as_str()),
        (ConditionStatus::True, "AppliedManifestWorkComplete")
    );
    assert_eq!((applied.observed_generation, applied.last_transition_time), (Some(1), Some(at(3))));
    release.set_desired_revision(2, RenderOutcome::Bundle(Digest::compute(b"2")), Policies::default(), at(4));
    let applied = find_condition(&release, ConditionType::Applied);
    assert_eq!((applied.status, applied.reason.as_str()), (ConditionStatus::False, "OlderApplied"));
    assert_eq!(applied.observed_generation, None, "no report about generation 2");
    assert_eq!(
        find_condition(&release, ConditionType::Scheduled).observed_generation,
        Some(2),
        "conditions of the hub have it"
    );
    let failed = StageState::Failed(stage_reason(Reason::ApplyConflict, "Secret a: owned by helm."));
    release.apply_report(&report(&release, StageName::Applied, failed), at(5)).unwrap();
    let applied = find_condition(&release, ConditionType::Applied);
    assert_eq!(
        (applied.status, applied.reason.as_str()),
        (ConditionStatus::False, "AppliedManifestWorkFailed")
    );
    assert_eq!(applied.message, "ApplyConflict: Secret a: owned by helm.");
    assert_eq!(applied.observed_generation, Some(2));
}

#[test]
fn s3_4_available_means_that_all_objects_exist_whatever_their_health() {
    let release = release_with_health(Health::new(HealthStatus::Degraded, "Broken", ""));
    let available = |resources: &[ResourceStatus]| super::available_condition(&release, resources);
    let both = available(&[resource("a", Some(true)), resource("b", Some(true))]);
    assert_eq!((both.status, both.reason.as_str()), (ConditionStatus::True, "ResourcesAvailable"));
    assert_eq!(both.last_transition_time, Some(at(5)));
    let one = available(&[resource("a", Some(true)), resource("b", Some(false))]);
    assert_eq!((one.status, one.reason.as_str()), (ConditionStatus::False, "ResourcesNotAvailable"));
    assert!(one.message.contains("1 of 2") && one.message.contains("Secret b"), "{}", one.message);
    assert_eq!(available(&[resource("a", None)]).status, ConditionStatus::Unknown);
    let missing = release_with_health(Health::new(HealthStatus::Missing, "ResourceMissing", "x"));
    assert_eq!(
        find_condition(&missing, ConditionType::Available).status,
        ConditionStatus::False,
        "also without resources"
    );
}

#[test]
fn s3_4_progressing_degraded_complete_and_deleting_follow_the_release() {
    let is = |release: &Release, kind| find_condition(release, kind).is_true();
    let fresh = targeted_release();
    assert!(is(&fresh, ConditionType::Progressing));
    let done = operational_release();
    for kind in [
        ConditionType::Progressing,
        ConditionType::Degraded,
        ConditionType::Complete,
        ConditionType::Deleting,
    ] {
        assert!(!is(&done, kind), "{kind:?}");
    }
    let broken = release_with_health(Health::new(HealthStatus::Degraded, "CrashLoopBackOff", "exits"));
    let degraded = find_condition(&broken, ConditionType::Degraded);
    assert_eq!((degraded.status, degraded.reason.as_str()), (ConditionStatus::True, "CrashLoopBackOff"));
    let ran = release_with_health(Health { reason: COMPLETED.into(), ..Health::healthy() });
    assert!(is(&ran, ConditionType::Complete));
    let mut removing = done;
    removing.remove(DeletionPolicy::Foreground, "Unpublished by ann.", at(6));
    let deleting = find_condition(&removing, ConditionType::Deleting);
    assert!(deleting.is_true() && deleting.last_transition_time == Some(at(6)));
    assert_eq!(find_condition(&removing, ConditionType::Applied).status, ConditionStatus::Unknown);
    let waiting =
        StageState::Waiting(stage_reason(Reason::FinalizerPending, "finalizer example.com/x holds it."));
    removing.apply_report(&report(&removing, StageName::Pruned, waiting), at(7)).unwrap();
    let deleting = find_condition(&removing, ConditionType::Deleting);
    assert_eq!(
        (deleting.reason.as_str(), deleting.message.contains("example.com/x")),
        ("FinalizerPending", true)
    );
}

#[test]
fn an_offline_cluster_keeps_its_last_known_conditions_and_is_not_reachable() {
    let mut release = operational_release();
    release.set_connectivity(Connectivity::Offline, at(9));
    assert!(find_condition(&release, ConditionType::Applied).is_true());
    assert_eq!(find_condition(&release, ConditionType::Degraded).status, ConditionStatus::False);
    let reachable = find_condition(&release, ConditionType::Reachable);
    assert_eq!((reachable.status, reachable.reason.as_str()), (ConditionStatus::False, "Offline"));
}

#[test]
fn every_condition_type_occurs_once_in_a_fixed_order_and_has_a_reason() {
    for release in [targeted_release(), operational_release()] {
        let all = release_conditions(&release, &[]);
        assert!(all.windows(2).all(|pair| pair[0].kind < pair[1].kind));
        assert!(all.iter().all(|condition| !condition.reason.is_empty()));
        assert_eq!(all.len(), 14);
    }
}

#[test]
fn s3_5_an_object_has_applied_and_available_with_their_reasons() {
    let reasons = |resource: &ResourceStatus| -> Vec<String> {
        let all = resource_conditions(resource);
        assert_eq!(
            all.iter().map(|one| one.kind).collect::<Vec<_>>(),
            [
                ConditionType::Applied,
                ConditionType::Available,
                ConditionType::Healthy,
                ConditionType::Drifted
            ]
        );
        all[..2].iter().map(|one| format!("{:?} {}", one.status, one.reason)).collect()
    };
    let good = resource("a", Some(true));
    assert_eq!(reasons(&good), ["True AppliedManifestComplete", "True ResourceAvailable"]);
    assert_eq!(resource_conditions(&good)[0].last_transition_time, Some(at(4)));
    let problem = Some(Finding::error("PermissionDenied", "the agent may not do this.", ""));
    let bad = ResourceStatus { problem, ..resource("a", Some(false)) };
    assert_eq!(reasons(&bad), ["False AppliedManifestFailed", "False ResourceNotAvailable"]);
    assert!(resource_conditions(&bad)[0].message.contains("PermissionDenied"));
    assert_eq!(reasons(&resource("a", None)), ["False NotAppliedYet", "Unknown ResourceStatusUnknown"]);
    let drifted = ResourceStatus { drifted: vec!["/data/key".into()], ..good };
    assert_eq!(
        (resource_conditions(&drifted)[3].status, resource_conditions(&drifted)[3].message.as_str()),
        (ConditionStatus::True, "/data/key")
    );
}

#[test]
fn s3_10_a_release_has_a_finalizer_while_its_cluster_may_have_a_record() {
    let view =
        |release: &Release| ReleaseView::new(release.clone(), "web".into(), "eu-1".into(), "eu".into());
    let mut release = operational_release();
    assert_eq!(view(&release).finalizers, [FINALIZER]);
    release.remove(DeletionPolicy::Foreground, "", at(4));
    assert_eq!(view(&release).finalizers, [FINALIZER]);
    let mut pruned = report(&release, StageName::Pruned, StageState::Done);
    release.apply_report(&pruned, at(5)).unwrap();
    assert_eq!(view(&release).finalizers, [FINALIZER], "the objects are gone, the record is not");
    pruned.removed = true;
    release.apply_report(&pruned, at(6)).unwrap();
    assert_eq!(view(&release).finalizers, Vec::<String>::new());
}
