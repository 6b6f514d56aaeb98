//! The state machine of the incidents of one workload: a pure function of what is tracked and what its clusters report.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::cause::list_causes;
use super::{Incident, IncidentCause, IncidentCluster};
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::release::{Release, ReleaseState};
use crate::model::report::ResourceStatus;

/// A failure of a release that has not lasted long enough to be part of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingFailure {
    /// Its cause.
    pub cause: IncidentCause,
    /// Since when the release fails.
    pub since: Timestamp,
}

/// What the hub tracks of the failures of one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkloadFailures {
    /// Failures that are not part of an incident yet.
    pub pending: BTreeMap<ClusterId, PendingFailure>,
    /// The open incidents.
    pub open: Vec<Incident>,
}

/// What is known about the workload on one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterObservation {
    /// It fails.
    Failing {
        /// Name of the cluster.
        name: String,
        /// Why, what decides first; never empty.
        causes: Vec<IncidentCause>,
        /// Since when it is in this state.
        since: Timestamp,
    },
    /// Neither a failure nor a success: it is being delivered, or the cluster is offline.
    Undecided {
        /// Since when it is in this state.
        since: Timestamp,
    },
    /// It works, or is not desired there any more.
    Recovered,
}

impl ClusterObservation {
    /// What a release says. Unknown is never a success, and a release that is being removed needs no repair.
    pub fn from_release(release: &Release, cluster: &str, resources: &[ResourceStatus]) -> Self {
        let (state, since) = (release.state(), release.state_since());
        match state {
            _ if state.is_failing() => {
                let causes = list_causes(release, resources);
                Self::Failing { name: cluster.to_owned(), causes, since }
            }
            _ if !release.is_present() => Self::Recovered,
            ReleaseState::Healthy
            | ReleaseState::NotAssessed
            | ReleaseState::Suspended
            | ReleaseState::Drifted => Self::Recovered,
            _ => Self::Undecided { since },
        }
    }
}

/// A change of an open incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentChange {
    /// Clusters joined or recovered.
    Changed,
    /// All clusters recovered.
    Closed,
}

/// A cluster that joins an incident.
struct JoiningCluster {
    cluster: IncidentCluster,
    cause: IncidentCause,
}

/// What follows for the incidents of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentStep {
    /// New incidents: their causes and clusters. Ids are given by the hub.
    pub opened: Vec<(IncidentCause, Vec<IncidentCluster>)>,
    /// Indexes of the open incidents whose clusters changed, and those that ended.
    pub changes: Vec<(usize, IncidentChange)>,
    /// When the next failure has lasted long enough, or the next pending one is forgotten.
    pub next_at: Option<Timestamp>,
}

/// Advances what is tracked of a workload. `observations` has every cluster on which it fails and every tracked cluster that
/// still has a release; a cluster that is missing has none. `delay_millis` is how long a release fails before that is an incident.
pub fn advance(
    failures: &mut WorkloadFailures,
    observations: &BTreeMap<ClusterId, ClusterObservation>,
    now: Timestamp,
    delay_millis: i64,
) -> IncidentStep {
    let tracked = failures.pending.keys().copied().chain(
        failures.open.iter().flat_map(|incident| incident.failing_clusters().map(|cluster| cluster.id)),
    );
    let clusters: BTreeSet<ClusterId> = tracked.chain(observations.keys().copied()).collect();
    let mut step = IncidentStep::default();
    let mut joining: BTreeMap<String, Vec<JoiningCluster>> = BTreeMap::new();
    let mut changed: BTreeSet<usize> = BTreeSet::new();
    for id in clusters {
        let observed = observations.get(&id).unwrap_or(&ClusterObservation::Recovered);
        let current = failures.open.iter().position(|incident| incident.affects(id));
        match observed {
            ClusterObservation::Recovered => {
                failures.pending.remove(&id);
                changed.extend(current.filter(|at| recover(&mut failures.open[*at], id, now)));
            }
            ClusterObservation::Undecided { since } => {
                // A failure that is only interrupted by a retry stays pending.
                let ends_at = since.plus_millis(delay_millis);
                if failures.pending.contains_key(&id) && ends_at <= now {
                    failures.pending.remove(&id);
                } else if failures.pending.contains_key(&id) {
                    note_time(&mut step, ends_at);
                }
            }
            ClusterObservation::Failing { name, causes, since } => {
                let joined = current.map(|at| failures.open[at].cause.key());
                if causes.iter().any(|cause| Some(cause.key()) == joined) {
                    failures.pending.remove(&id);
                    continue;
                }
                let since = if joined.is_some() { now } else { (*since).min(now) };
                let Some(pending) = update_pending(failures, id, causes, since) else { continue };
                let due = pending.since.plus_millis(delay_millis);
                if due > now {
                    note_time(&mut step, due);
                    continue;
                }
                let (cause, since) = (pending.cause.clone(), pending.since);
                failures.pending.remove(&id);
                changed.extend(current.filter(|at| recover(&mut failures.open[*at], id, now)));
                let cluster = IncidentCluster { id, name: name.clone(), since, recovered_at: None };
                joining.entry(cause.key()).or_default().push(JoiningCluster { cluster, cause });
            }
        }
    }
    for (key, joining) in joining {
        match failures.open.iter().position(|incident| incident.cause.key() == key) {
            Some(at) => {
                joining.into_iter().for_each(|one| join(&mut failures.open[at], one.cluster));
                changed.insert(at);
            }
            None => {
                let cause = joining.first().map(|one| one.cause.clone()).unwrap_or_default();
                step.opened.push((cause, joining.into_iter().map(|one| one.cluster).collect()));
            }
        }
    }
    for at in changed {
        let incident = &mut failures.open[at];
        incident.changed_at = now;
        let is_over = incident.failing_clusters().next().is_none();
        incident.closed_at = is_over.then_some(now);
        step.changes.push((at, if is_over { IncidentChange::Closed } else { IncidentChange::Changed }));
    }
    step
}

fn note_time(step: &mut IncidentStep, at: Timestamp) {
    step.next_at = Some(step.next_at.map_or(at, |other| other.min(at)));
}

/// The pending failure of a cluster: it keeps its start while the cause changes, and its cause while that is still reported.
fn update_pending<'f>(
    failures: &'f mut WorkloadFailures,
    id: ClusterId,
    causes: &[IncidentCause],
    since: Timestamp,
) -> Option<&'f PendingFailure> {
    let first = causes.first()?;
    let pending =
        failures.pending.entry(id).or_insert_with(|| PendingFailure { cause: first.clone(), since });
    if !causes.iter().any(|cause| cause.key() == pending.cause.key()) {
        pending.cause = first.clone();
    }
    Some(pending)
}

/// Records that a cluster recovered; false if it had.
fn recover(incident: &mut Incident, id: ClusterId, now: Timestamp) -> bool {
    let cluster =
        incident.clusters.iter_mut().find(|cluster| cluster.id == id && cluster.recovered_at.is_none());
    cluster.map(|cluster| cluster.recovered_at = Some(now)).is_some()
}

/// Adds a cluster, or records that it fails again.
fn join(incident: &mut Incident, joining: IncidentCluster) {
    match incident.clusters.iter_mut().find(|cluster| cluster.id == joining.id) {
        Some(cluster) => *cluster = joining,
        None => incident.clusters.push(joining),
    }
}
