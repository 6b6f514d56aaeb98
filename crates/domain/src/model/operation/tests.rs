//! Outcomes of operations, by release.

use super::*;
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ReleaseId, WorkloadId};
use crate::model::health::{Health, HealthStatus};
use crate::model::policy::{DeletionPolicy, Policies};
use crate::model::release::stage::StageReason;
use crate::model::release::{Reason, RenderOutcome, SyncStatus};
use crate::model::report::{ReleaseReport, StageReport};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn operation(kind: OperationKind, revision: Option<u32>, started_at: i64) -> Operation {
    Operation {
        id: OperationId::from_parts(1, 1),
        workload: "web".to_owned(),
        kind,
        revision,
        restored_revision: None,
        actor: "ann".to_owned(),
        started_at: at(started_at),
        closed_at: None,
        counts: OperationCounts::default(),
    }
}

fn release() -> Release {
    let (id, workload) = (ReleaseId::from_parts(1, 1), WorkloadId::from_parts(1, 1));
    let mut release = Release::new(id, workload, ClusterId::from_parts(1, 1), at(0));
    release.set_connectivity(Connectivity::Online, at(0));
    let bundle = RenderOutcome::Bundle(Digest::compute(b"one"));
    release.set_desired_revision(1, bundle, Policies::default(), at(0));
    release
}

const fn target() -> ReleaseCluster<'static> {
    ReleaseCluster { name: "eu", is_leaving: false }
}

fn status(operation: &Operation, release: &Release) -> Option<OperationStatus> {
    operation.evaluate_release(release, target()).map(|target| target.status)
}

#[test]
fn s1_13_a_publish_is_pending_until_the_placer_wrote_it_and_deferred_while_the_cluster_is_offline() {
    let mut release = release();
    assert_eq!(
        status(&operation(OperationKind::Publish, Some(2), 1), &release),
        Some(OperationStatus::Pending)
    );
    let first = operation(OperationKind::Publish, Some(1), 0);
    assert_eq!(status(&first, &release), Some(OperationStatus::Pending), "queued");
    release.set_connectivity(Connectivity::Offline, at(1));
    let target = first.evaluate_release(&release, target()).unwrap();
    assert_eq!(target.status, OperationStatus::Deferred);
    assert!(target.error.unwrap().contains("unreachable"));
}

#[test]
fn s1_13_a_removal_of_an_earlier_operation_is_none_of_a_later_one() {
    let mut release = release();
    release.remove(DeletionPolicy::Foreground, "unpublished", at(5));
    let delete = operation(OperationKind::Delete, None, 5);
    assert_eq!(status(&delete, &release), Some(OperationStatus::Running));
    release.set_connectivity(Connectivity::Offline, at(6));
    assert_eq!(status(&delete, &release), Some(OperationStatus::Deferred));
    release.abandon(at(7));
    assert_eq!(status(&delete, &release), Some(OperationStatus::Deferred));
    assert_eq!(status(&operation(OperationKind::Publish, Some(2), 9), &release), None);
}

/// A report that this bundle is applied, or that it failed.
fn report(release: &Release, outcome: Result<&[u8], &str>) -> ReleaseReport {
    let failed = |why: &str| StageState::Failed(StageReason::new(Reason::AdmissionRejected, why.to_owned()));
    let state = outcome.err().map_or(StageState::Done, failed);
    let is_earlier = |name: &StageName| name.is_reported_by_agent() && *name < StageName::Applied;
    let earlier = StageName::ALL.iter().copied().filter(is_earlier);
    let done = earlier.map(|name| StageReport { name, state: StageState::Done });
    ReleaseReport {
        release: release.id(),
        generation: release.generation(),
        applied: outcome.ok().map(Digest::compute),
        stages: done.chain([StageReport { name: StageName::Applied, state }]).collect(),
        sync: SyncStatus::Applying,
        health: Health::new(HealthStatus::Progressing, "Starting", "Starting."),
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: false,
    }
}

#[test]
fn s1_21_a_sync_concerns_a_first_installation_that_was_rolled_back_before_its_rollout_admits_it_again() {
    let mut release = release();
    release.apply_report(&report(&release, Err("no web here")), at(2)).unwrap();
    assert!(release.roll_back_failing(at(70)));
    let removed = ReleaseReport { removed: true, applied: None, ..report(&release, Err("gone")) };
    release.apply_report(&removed, at(71)).unwrap();
    let sync = operation(OperationKind::Sync, None, 80);
    assert_eq!(status(&sync, &release), Some(OperationStatus::Failed));
    assert!(release.retry_rolled_back(at(80)));
    assert_eq!(status(&sync, &release), Some(OperationStatus::Pending));
    assert!(release.admit(Policies::default(), at(81)));
    assert_eq!(status(&sync, &release), Some(OperationStatus::Pending), "queued");
    release.apply_report(&report(&release, Ok(b"one")), at(82)).unwrap();
    assert_eq!(status(&sync, &release), Some(OperationStatus::Succeeded));
}

#[test]
fn s1_21_a_failure_that_was_reported_before_a_sync_is_not_its_outcome() {
    let mut release = release();
    let failed = report(&release, Err("names must be good"));
    release.apply_report(&failed, at(2)).unwrap();
    let publish = operation(OperationKind::Publish, Some(1), 1);
    assert_eq!(status(&publish, &release), Some(OperationStatus::Failed));
    let sync = operation(OperationKind::Sync, None, 3);
    assert_eq!(status(&sync, &release), Some(OperationStatus::Running));
    release.apply_report(&failed, at(4)).unwrap();
    let target = sync.evaluate_release(&release, target()).unwrap();
    assert_eq!(target.status, OperationStatus::Failed);
    assert!(target.error.unwrap().contains("names must be good"));
    release.apply_report(&report(&release, Ok(b"one")), at(5)).unwrap();
    assert_eq!(status(&sync, &release), Some(OperationStatus::Succeeded));
}

#[test]
fn s1_13_an_offline_cluster_that_has_the_objects_defers_what_is_requested_then_and_completed_what_was_before()
{
    let mut release = release();
    release.apply_report(&report(&release, Ok(b"one")), at(2)).unwrap();
    release.set_connectivity(Connectivity::Offline, at(5));
    assert_eq!(
        status(&operation(OperationKind::Publish, Some(1), 1), &release),
        Some(OperationStatus::Succeeded)
    );
    assert_eq!(
        status(&operation(OperationKind::Publish, Some(1), 3), &release),
        Some(OperationStatus::Succeeded),
        "it had the objects and was online when they were published again"
    );
    let later = operation(OperationKind::Publish, Some(1), 6);
    assert_eq!(status(&later, &release), Some(OperationStatus::Deferred));
    let sync = operation(OperationKind::Sync, None, 3);
    assert_eq!(status(&sync, &release), Some(OperationStatus::Deferred), "it has not compared them");
    release.set_connectivity(Connectivity::Online, at(7));
    assert_eq!(status(&later, &release), Some(OperationStatus::Succeeded));
}

#[test]
fn s1_21_a_cluster_that_left_the_group_is_no_success_before_it_removed_the_objects() {
    let mut release = release();
    release.apply_report(&report(&release, Ok(b"one")), at(2)).unwrap();
    let sync = operation(OperationKind::Sync, None, 3);
    let leaving = ReleaseCluster { is_leaving: true, ..target() };
    let outcome = |release: &Release| sync.evaluate_release(release, leaving).unwrap().status;
    assert_eq!(outcome(&release), OperationStatus::Running);
    release.set_connectivity(Connectivity::Offline, at(4));
    assert_eq!(outcome(&release), OperationStatus::Deferred);
}
