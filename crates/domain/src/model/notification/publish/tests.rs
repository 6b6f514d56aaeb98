//! The outcome of a publish by example.

use super::*;
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::model::cluster::Connectivity;
use crate::model::health::{Health, HealthStatus};
use crate::model::policy::Policies;
use crate::model::release::{RenderOutcome, StageName, StageState, SyncStatus};
use crate::model::report::{ReleaseReport, StageReport};

const NOW: Timestamp = Timestamp::from_millis(100_000);

/// A release of revision 2 on an online cluster, which has not reported on it.
fn queued(n: u128) -> Release {
    let mut release = Release::new(
        ReleaseId::from_parts(1, n),
        WorkloadId::from_parts(1, 1),
        ClusterId::from_parts(1, n),
        NOW,
    );
    release.set_connectivity(Connectivity::Online, NOW);
    let bundle = RenderOutcome::Bundle(Digest::compute(b"2"));
    release.set_desired_revision(2, bundle, Policies::default(), NOW);
    release
}

fn reported(n: u128, health: Health) -> Release {
    let mut release = queued(n);
    let stages = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent());
    let is_operational = health.status == HealthStatus::Healthy;
    let state = |name| match name {
        StageName::Operational if !is_operational => StageState::Running { message: String::new() },
        _ => StageState::Done,
    };
    let report = ReleaseReport {
        release: release.id(),
        generation: release.generation(),
        applied: release.released().cloned(),
        stages: stages.map(|name| StageReport { name, state: state(name) }).collect(),
        sync: SyncStatus::Synced,
        health,
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: false,
    };
    release.apply_report(&report, NOW).unwrap();
    release
}

fn healthy(n: u128) -> Release {
    reported(n, Health::healthy())
}

fn failing(n: u128) -> Release {
    reported(n, Health::new(HealthStatus::Degraded, "ImagePullFailed", "cannot pull image web:9"))
}

fn offline(n: u128) -> Release {
    let mut release = queued(n);
    release.set_connectivity(Connectivity::Offline, NOW);
    release
}

fn outcome(releases: Vec<Release>) -> Option<PublishEnd> {
    let named: Vec<(String, Release)> =
        releases.into_iter().enumerate().map(|(n, release)| (format!("c{n}"), release)).collect();
    evaluate_publish(2, &named, None, NOW)
}

#[test]
fn a_publish_ends_when_it_is_operational_everywhere_fails_or_needs_a_person() {
    assert_eq!(outcome(vec![healthy(1), queued(2)]), None);
    let end = outcome(vec![healthy(1), healthy(2)]).unwrap();
    assert_eq!((end.outcome, end.clusters, end.operational), (PublishOutcome::Operational, 2, 2));
    assert_eq!((end.affected, end.cause), (Vec::new(), String::new()));
    let end = outcome(vec![healthy(1), failing(2), queued(3)]).unwrap();
    assert_eq!((end.outcome, end.clusters, end.affected_count), (PublishOutcome::Failed, 3, 1));
    assert_eq!((end.affected, end.cause.as_str()), (vec!["c1".to_owned()], "cannot pull image web:9"));
    let end = outcome(Vec::new()).unwrap();
    assert_eq!(end.outcome, PublishOutcome::NeedsPerson);
    assert!(!end.cause.is_empty());
}

#[test]
fn a_cluster_that_is_offline_is_no_success() {
    assert_eq!(outcome(vec![offline(1), queued(2)]), None);
    let end = outcome(vec![healthy(1), offline(2)]).unwrap();
    assert_eq!((end.outcome, end.clusters, end.operational), (PublishOutcome::Deferred, 2, 1));
    assert_eq!(end.affected, ["c1"]);
    assert_eq!(outcome(vec![offline(1), failing(2)]).unwrap().outcome, PublishOutcome::Failed);
}

#[test]
fn a_cluster_that_was_rolled_back_has_failed_also_where_nothing_is_left() {
    let mut first = failing(1);
    first.set_wave(Some(0));
    assert!(first.roll_back_failing(NOW));
    assert!(!first.is_present());
    let end = outcome(vec![first.clone(), healthy(2)]).unwrap();
    assert_eq!((end.outcome, end.clusters, end.affected), (PublishOutcome::Failed, 2, vec!["c0".to_owned()]));
    assert!(end.cause.contains("cannot pull image web:9"), "{}", end.cause);
    first.set_wave(None);
    assert_eq!(outcome(vec![first, healthy(2)]).unwrap().clusters, 1, "it is not selected any more");
}

#[test]
fn s2_11_a_suspended_cluster_needs_a_person_unless_the_revision_was_operational_there() {
    let mut held = queued(1);
    assert!(held.suspend("Suspended by ann.", NOW));
    let end = outcome(vec![held, healthy(2)]).unwrap();
    assert_eq!((end.outcome, end.affected), (PublishOutcome::NeedsPerson, vec!["c0".to_owned()]));
    assert_eq!(end.cause, "Suspended by ann. The desired revision waits.");
    let mut works = healthy(1);
    assert!(works.suspend("Suspended by ann.", NOW));
    assert_eq!(outcome(vec![works, healthy(2)]).unwrap().outcome, PublishOutcome::Operational);
}

#[test]
fn what_is_known_of_an_earlier_revision_ends_nothing() {
    let earlier = |release: Release| evaluate_publish(3, &[("c".to_owned(), release)], None, NOW);
    assert_eq!(earlier(healthy(1)), None);
    assert_eq!(earlier(failing(1)), None);
}

#[test]
fn a_message_about_a_publish_names_workload_revision_clusters_and_cause() {
    let message = |outcome| PublishMessage {
        outcome,
        operation: OperationId::from_parts(1, 1),
        workload: "web".into(),
        revision: 3,
        publisher: "ana".into(),
        clusters: 12,
        operational: 1,
        affected: (0..10).map(|n| format!("eu-{n}")).collect(),
        affected_count: 11,
        cause: "cannot pull image web:9".into(),
        started_at: NOW,
        at: NOW,
    };
    assert_eq!(message(PublishOutcome::Failed).headline(), "web r3 fails on 11 of 12 clusters");
    assert_eq!(message(PublishOutcome::NeedsPerson).headline(), "web r3 needs attention to continue");
    let facts = message(PublishOutcome::Failed).facts();
    assert_eq!(facts[0], ("Cause", "cannot pull image web:9".to_owned()));
    assert!(facts[1].1.ends_with("eu-9 and 1 more"), "{facts:?}");
    for &outcome in PublishOutcome::ALL {
        assert_eq!(PublishOutcome::parse(outcome.as_str()), Some(outcome));
        assert!(message(outcome).headline().contains("web r3"), "{outcome:?}");
    }
}
