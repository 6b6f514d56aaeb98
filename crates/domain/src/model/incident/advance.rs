//! The state machine of the incidents of one workload: a pure function of what is tracked and what its clusters report.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::cause::{list_causes, list_drift_causes};
use super::{Incident, IncidentCause, IncidentCluster};
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::release::{Release, ReleaseState};
use crate::model::report::ResourceStatus;

/// A cause that has not lasted long enough to be part of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingFailure {
    /// Its cause.
    pub cause: IncidentCause,
    /// Since when it is there.
    pub since: Timestamp,
}

/// What the hub tracks of one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkloadFailures {
    /// Causes that are not part of an incident yet, by cluster or by [`super::IncidentKind::workload_place`].
    pub pending: BTreeMap<ClusterId, PendingFailure>,
    /// The open incidents.
    pub open: Vec<Incident>,
}

/// What is known about the workload on one cluster, or as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterObservation {
    /// It fails, drifts, or waits.
    Failing {
        /// Name of the cluster; empty if the causes are of the workload as a whole.
        name: String,
        /// Why, what decides first; never empty, and all of one kind.
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
    /// What a release says. Unknown is never a success, and a release that is being removed needs no repair. One that fails and drifts
    /// fails.
    pub fn from_release(release: &Release, cluster: &str, resources: &[ResourceStatus]) -> Self {
        let (state, since) = (release.state(), release.state_since());
        match state {
            _ if state.is_failing() => {
                let causes = list_causes(release, resources);
                Self::Failing { name: cluster.to_owned(), causes, since }
            }
            _ if !release.is_present() => Self::Recovered,
            ReleaseState::Drifted => {
                let causes = list_drift_causes(release, resources);
                Self::Failing { name: cluster.to_owned(), causes, since }
            }
            ReleaseState::Healthy | ReleaseState::NotAssessed | ReleaseState::Suspended => Self::Recovered,
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

/// Advances what is tracked of a workload. `observations` has every cluster on which it fails or drifts, every tracked cluster that
/// still has a release, and the causes of the workload as a whole; what is missing is over. `delay_millis` is how long a release fails
/// before that is an incident; other kinds wait longer ([`super::IncidentKind::delay_millis`]).
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
    let mut pass = IncidentPass {
        failures,
        now,
        delay_millis,
        step: IncidentStep::default(),
        joining: BTreeMap::new(),
        changed: BTreeSet::new(),
    };
    for id in clusters {
        match observations.get(&id).unwrap_or(&ClusterObservation::Recovered) {
            ClusterObservation::Recovered => {
                pass.failures.pending.remove(&id);
                let current = pass.find_open(id);
                pass.leave(current, id);
            }
            ClusterObservation::Undecided { since } => pass.wait_for_retry(id, *since),
            ClusterObservation::Failing { name, causes, since } => pass.observe(id, name, causes, *since),
        }
    }
    pass.finish()
}

/// One pass over the clusters of a workload.
struct IncidentPass<'f> {
    failures: &'f mut WorkloadFailures,
    now: Timestamp,
    delay_millis: i64,
    step: IncidentStep,
    /// Clusters that join an incident, by the key of its cause.
    joining: BTreeMap<String, Vec<JoiningCluster>>,
    /// Indexes of the open incidents whose clusters changed.
    changed: BTreeSet<usize>,
}

impl IncidentPass<'_> {
    /// The index of the open incident that a cluster is part of.
    fn find_open(&self, id: ClusterId) -> Option<usize> {
        self.failures.open.iter().position(|incident| incident.affects(id))
    }

    /// Records that a cluster is not part of this incident any more.
    fn leave(&mut self, current: Option<usize>, id: ClusterId) {
        let now = self.now;
        let left = current.filter(|at| recover(&mut self.failures.open[*at], id, now));
        self.changed.extend(left);
    }

    /// A failure that is only interrupted by a retry stays pending.
    fn wait_for_retry(&mut self, id: ClusterId, since: Timestamp) {
        let Some(pending) = self.failures.pending.get(&id) else { return };
        let ends_at = since.plus_millis(pending.cause.kind.delay_millis(self.delay_millis));
        if ends_at <= self.now {
            self.failures.pending.remove(&id);
        } else {
            note_time(&mut self.step, ends_at);
        }
    }

    fn observe(&mut self, id: ClusterId, name: &str, causes: &[IncidentCause], since: Timestamp) {
        let Some(first) = causes.first() else { return };
        let mut current = self.find_open(id);
        let joined = current.map(|at| self.failures.open[at].cause.clone());
        if let Some(joined) = joined {
            if causes.iter().any(|cause| cause.key() == joined.key()) {
                self.failures.pending.remove(&id);
                return;
            }
            if joined.kind.is_ended_by(first.kind) {
                self.leave(current.take(), id);
            }
        }
        let since = if current.is_some() { self.now } else { since.min(self.now) };
        let pending = update_pending(self.failures, id, causes, since);
        let due = pending.since.plus_millis(pending.cause.kind.delay_millis(self.delay_millis));
        if due > self.now {
            note_time(&mut self.step, due);
            return;
        }
        let Some(PendingFailure { cause, since }) = self.failures.pending.remove(&id) else { return };
        self.leave(current, id);
        let cluster = IncidentCluster { id, name: name.to_owned(), since, recovered_at: None };
        self.joining.entry(cause.key()).or_default().push(JoiningCluster { cluster, cause });
    }

    /// Adds the clusters that join to the incidents of their causes, and closes those without clusters.
    fn finish(mut self) -> IncidentStep {
        for (key, joining) in self.joining {
            match self.failures.open.iter().position(|incident| incident.cause.key() == key) {
                Some(at) => {
                    joining.into_iter().for_each(|one| join(&mut self.failures.open[at], one.cluster));
                    self.changed.insert(at);
                }
                None => {
                    let cause = joining.first().map(|one| one.cause.clone()).unwrap_or_default();
                    let clusters = joining.into_iter().map(|one| one.cluster).collect();
                    self.step.opened.push((cause, clusters));
                }
            }
        }
        for at in self.changed {
            let incident = &mut self.failures.open[at];
            incident.changed_at = self.now;
            let is_over = incident.failing_clusters().next().is_none();
            incident.closed_at = is_over.then_some(self.now);
            let change = if is_over { IncidentChange::Closed } else { IncidentChange::Changed };
            self.step.changes.push((at, change));
        }
        self.step
    }
}

fn note_time(step: &mut IncidentStep, at: Timestamp) {
    step.next_at = Some(step.next_at.map_or(at, |other| other.min(at)));
}

/// The pending cause of a cluster: it keeps its start while the cause changes within its kind, and its cause while that is still
/// reported. `causes` is not empty.
fn update_pending<'f>(
    failures: &'f mut WorkloadFailures,
    id: ClusterId,
    causes: &[IncidentCause],
    since: Timestamp,
) -> &'f PendingFailure {
    let first = || causes.first().cloned().unwrap_or_default();
    let pending = failures.pending.entry(id).or_insert_with(|| PendingFailure { cause: first(), since });
    if !causes.iter().any(|cause| cause.key() == pending.cause.key()) {
        let cause = first();
        if cause.kind != pending.cause.kind {
            pending.since = since;
        }
        pending.cause = cause;
    }
    pending
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
