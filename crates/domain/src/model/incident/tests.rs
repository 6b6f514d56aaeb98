//! The state machine of incidents by example.

use std::collections::BTreeMap;

use super::*;
use crate::kubernetes::object::ObjectRef;
use crate::model::git_status::{GitFailure, GitFollowStatus, GitRefStatus};

const DELAY: i64 = DEFAULT_DELAY_MILLIS;

const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn cluster(n: u128) -> ClusterId {
    ClusterId::from_parts(1, n)
}

fn cause(reason: &str) -> IncidentCause {
    let object = ObjectRef { kind: "Deployment".into(), name: "web".into(), ..ObjectRef::default() };
    IncidentCause {
        reason: reason.into(),
        object: Some(object),
        message: format!("web: {reason}"),
        ..IncidentCause::default()
    }
}

fn failing(reasons: &[&str], since: i64) -> ClusterObservation {
    let causes = reasons.iter().map(|reason| cause(reason)).collect();
    ClusterObservation::Failing { name: "eu".into(), causes, since: at(since) }
}

/// What is tracked of one workload, with incidents that are opened at once.
#[derive(Default)]
struct Tracked {
    failures: WorkloadFailures,
    closed: Vec<Incident>,
    next_at: Option<Timestamp>,
}

impl Tracked {
    /// Advances to this second; returns the numbers of opened, changed and closed incidents.
    fn advance(&mut self, second: i64, observed: &[(u128, ClusterObservation)]) -> (usize, usize, usize) {
        let observations: BTreeMap<_, _> =
            observed.iter().map(|(n, one)| (cluster(*n), one.clone())).collect();
        let step = advance(&mut self.failures, &observations, at(second), DELAY);
        self.next_at = step.next_at;
        let of = |kind| step.changes.iter().filter(|(_, change)| *change == kind).count();
        let counts = (step.opened.len(), of(IncidentChange::Changed), of(IncidentChange::Closed));
        let (open, closed) = std::mem::take(&mut self.failures.open)
            .into_iter()
            .partition(|incident| incident.closed_at.is_none());
        self.failures.open = open;
        self.closed.extend::<Vec<Incident>>(closed);
        for (cause, clusters) in step.opened {
            self.failures.open.push(Incident {
                id: IncidentId::from_parts(1, 1),
                workload: WorkloadId::from_parts(1, 1),
                workload_name: "web".into(),
                cause,
                clusters,
                preceding_change: None,
                opened_at: at(second),
                changed_at: at(second),
                closed_at: None,
                acknowledged_by: None,
                acknowledged_at: None,
            });
        }
        counts
    }
}

const RECOVERED: ClusterObservation = ClusterObservation::Recovered;

fn offline(since: i64) -> ClusterObservation {
    ClusterObservation::Undecided { since: at(since) }
}

#[test]
fn s0_13_a_failure_becomes_an_incident_after_the_delay_and_closes_when_every_cluster_recovered() {
    let mut tracked = Tracked::default();
    let bad = || failing(&["ImagePullFailed"], 10);
    assert_eq!(tracked.advance(10, &[(1, bad())]), (0, 0, 0));
    assert_eq!(tracked.next_at, Some(at(70)));
    assert_eq!(tracked.advance(70, &[(1, bad())]), (1, 0, 0));
    assert_eq!(tracked.failures.open[0].since(), at(10));
    let second = || failing(&["ImagePullFailed"], 20);
    assert_eq!(tracked.advance(79, &[(1, bad()), (2, second())]), (0, 0, 0), "each cluster by itself");
    assert_eq!(tracked.advance(80, &[(1, bad()), (2, second())]), (0, 1, 0), "it grows");
    assert_eq!(tracked.failures.open[0].failing_clusters().count(), 2);
    assert_eq!(tracked.advance(90, &[(1, RECOVERED), (2, second())]), (0, 1, 0), "it shrinks");
    assert_eq!(tracked.advance(91, &[(2, second())]), (0, 0, 0), "no change is no step");
    assert_eq!(tracked.advance(100, &[]), (0, 0, 1), "the release is gone");
    let summary = tracked.closed[0].summary();
    assert_eq!((summary.duration_seconds, summary.clusters.len()), (Some(90), 2));
    assert_eq!(summary.headline(), "web recovered on 2 clusters after 1 min");
    assert_eq!(tracked.failures, WorkloadFailures::default());
}

#[test]
fn a_failure_that_ends_before_the_delay_is_no_incident() {
    let mut tracked = Tracked::default();
    tracked.advance(0, &[(1, failing(&["CrashLoop"], 0))]);
    assert_eq!(tracked.advance(59, &[(1, RECOVERED)]), (0, 0, 0));
    assert!(tracked.failures.pending.is_empty());
}

#[test]
fn a_cluster_that_goes_offline_neither_closes_nor_opens_an_incident() {
    let mut tracked = Tracked::default();
    tracked.advance(0, &[(1, failing(&["CrashLoop"], 0)), (2, failing(&["CrashLoop"], 30))]);
    tracked.advance(60, &[(1, failing(&["CrashLoop"], 0)), (2, offline(40))]);
    assert_eq!(tracked.failures.open[0].failing_clusters().count(), 1);
    assert_eq!(tracked.advance(1_000, &[(1, offline(90)), (2, offline(40))]), (0, 0, 0));
    assert_eq!(tracked.failures.open.len(), 1, "unknown is not recovered");
}

#[test]
fn a_restart_between_two_failures_does_not_begin_the_delay_again() {
    let mut tracked = Tracked::default();
    tracked.advance(0, &[(1, failing(&["CrashLoop"], 0))]);
    assert_eq!(tracked.advance(30, &[(1, offline(30))]), (0, 0, 0));
    assert_eq!(tracked.next_at, Some(at(90)), "then it is forgotten");
    assert_eq!(tracked.advance(65, &[(1, failing(&["CrashLoop"], 65))]), (1, 0, 0));
    let mut slow = Tracked::default();
    slow.advance(0, &[(1, failing(&["CrashLoop"], 0))]);
    slow.advance(90, &[(1, offline(30))]);
    assert_eq!(slow.advance(95, &[(1, failing(&["CrashLoop"], 95))]), (0, 0, 0), "it began again");
}

#[test]
fn e12_another_cause_is_another_incident_and_the_cluster_moves_to_it() {
    let mut tracked = Tracked::default();
    tracked.advance(0, &[(1, failing(&["ImagePullFailed"], 0))]);
    tracked.advance(60, &[(1, failing(&["ImagePullFailed"], 0))]);
    let both = failing(&["CrashLoop", "ImagePullFailed"], 0);
    assert_eq!(tracked.advance(70, &[(1, both)]), (0, 0, 0), "its cause is still reported");
    let other = || failing(&["CrashLoop"], 0);
    assert_eq!(tracked.advance(80, &[(1, other())]), (0, 0, 0));
    assert_eq!(tracked.next_at, Some(at(140)));
    assert_eq!(tracked.advance(140, &[(1, other())]), (1, 0, 1));
    assert_eq!(tracked.failures.open[0].cause.reason, "CrashLoop");
}

#[test]
fn e12_the_key_of_a_cause_has_no_text_of_the_cluster() {
    let one =
        IncidentCause { pod: "web-7f9c-x1".into(), message: "back-off 10s".into(), ..cause("CrashLoop") };
    let other =
        IncidentCause { pod: "web-5d2a-q8".into(), message: "back-off 40s".into(), ..cause("CrashLoop") };
    assert_eq!(one.key(), other.key());
    assert_ne!(one.key(), IncidentCause { container: "proxy".into(), ..one.clone() }.key());
}

#[test]
fn an_incident_is_acknowledged_once_while_it_is_open() {
    let mut tracked = Tracked::default();
    tracked.advance(0, &[(1, failing(&["CrashLoop"], 0))]);
    tracked.advance(60, &[(1, failing(&["CrashLoop"], 0))]);
    let mut incident = tracked.failures.open.remove(0);
    assert!(incident.acknowledge("ana", at(70)));
    assert!(!incident.acknowledge("ben", at(80)));
    assert_eq!(incident.acknowledged_by.as_deref(), Some("ana"));
    incident.closed_at = Some(at(90));
    incident.acknowledged_by = None;
    assert!(!incident.acknowledge("ben", at(100)));
}

#[test]
fn e12_the_kind_of_a_cause_decides_how_long_it_has_to_last() {
    let of = |kind, reason| IncidentCause { kind, ..cause(reason) };
    assert_ne!(of(IncidentKind::Drift, "CrashLoop").key(), cause("CrashLoop").key());
    for (kind, seconds) in [
        (IncidentKind::Failure, 60),
        (IncidentKind::Rollback, 60),
        (IncidentKind::Drift, 600),
        (IncidentKind::Silence, 600),
        (IncidentKind::Source, 600),
        (IncidentKind::Loop, 600),
        (IncidentKind::Rollout, 3_600),
    ] {
        let mut tracked = Tracked::default();
        let observed = || ClusterObservation::Failing {
            name: String::new(),
            causes: vec![of(kind, "Some")],
            since: at(0),
        };
        assert_eq!(tracked.advance(seconds - 1, &[(1, observed())]), (0, 0, 0), "{kind:?}");
        assert_eq!(tracked.next_at, Some(at(seconds)), "{kind:?}");
        assert_eq!(tracked.advance(seconds, &[(1, observed())]), (1, 0, 0), "{kind:?}");
        let summary = tracked.failures.open[0].summary();
        assert_eq!(summary.clusters.len(), usize::from(summary.has_clusters()), "{kind:?}");
        assert_eq!(summary.cluster_details.len(), summary.clusters.len(), "{kind:?}");
    }
}

#[test]
fn e12_what_an_earlier_version_stored_is_a_failure_with_the_same_key() {
    let stored = serde_json::json!({
        "reason": "CrashLoop", "object": null, "container": "web", "pod": "", "message": "it exits", "hint": "",
    });
    let read: IncidentCause = serde_json::from_value(stored).unwrap();
    assert_eq!((read.kind, read.key().as_str()), (IncidentKind::Failure, "CrashLoop||web"));
}

#[test]
fn e12_the_cause_of_a_source_has_no_password_of_its_url() {
    let failure = GitFailure {
        message: "its URL contains a user name or password".into(),
        hint: String::new(),
        at: at(0),
        attempts: 1,
    };
    let status = GitRefStatus { failure: Some(failure), ..GitRefStatus::default() };
    for (url, shown) in [
        ("https://ana:hunter2@git.example.com/deploy.git", "https://git.example.com/deploy.git"),
        ("https://git.example.com/a@b.git", "https://git.example.com/a@b.git"),
        ("ssh://git@git.example.com/deploy.git", "ssh://git@git.example.com/deploy.git"),
    ] {
        let causes = source_causes((url, "main"), &status, &GitFollowStatus::default());
        let expected = format!("main of {shown} can't be read: its URL contains a user name or password");
        assert_eq!(causes[0].message, expected);
    }
}
