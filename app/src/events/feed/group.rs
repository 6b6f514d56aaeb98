//! Which events belong together.

use std::collections::BTreeMap;

use domain::Severity;
use domain::event::{Event, EventDetail, EventKind};
use domain::release::ReleaseState;

/// Events of one change follow each other within this time, in milliseconds.
const FOLD_MILLIS: i64 = 60_000;
/// The steps of a publish or of an outage follow each other within this time, in milliseconds.
const STEP_MILLIS: i64 = 600_000;
/// The actor of what nobody requested.
pub const NO_PERSON: &str = "flotilla";

/// Events that belong together, oldest first; never empty.
pub struct EventGroup<'a> {
    /// The events.
    pub events: Vec<&'a Event>,
}

/// Groups events, newest first. The groups are sorted by their first event, oldest first.
pub fn group_events(events: &[Event]) -> Vec<EventGroup<'_>> {
    let mut groups: Vec<EventGroup<'_>> = Vec::new();
    for event in events.iter().rev() {
        // Only the latest publish of a workload continues.
        let publish =
            groups.iter().rposition(|group| group.is_publish() && is_same_workload(group.first(), event));
        let publish = publish.filter(|at| groups[*at].takes_step(event));
        let at = publish.or_else(|| groups.iter().rposition(|group| group.continues(event)));
        match at {
            Some(at) => groups[at].events.push(event),
            None => groups.push(EventGroup { events: vec![event] }),
        }
    }
    groups
}

impl<'a> EventGroup<'a> {
    /// The event that began it.
    pub fn first(&self) -> &'a Event {
        self.events[0]
    }

    /// The newest event.
    pub fn last(&self) -> &'a Event {
        self.events[self.events.len() - 1]
    }

    /// Whether a publish began it.
    pub fn is_publish(&self) -> bool {
        matches!(self.first().detail, Some(EventDetail::Published { .. }))
    }

    /// Whether a cluster that joined began it.
    pub fn is_join(&self) -> bool {
        matches!(self.first().kind, EventKind::ClusterRegistered | EventKind::ClusterAccepted)
    }

    /// The newest change of state on each cluster.
    pub fn latest_states(&self) -> BTreeMap<&'a str, (&'a Event, ReleaseState)> {
        let states = self.events.iter().filter_map(|event| {
            let (_, to) = transition(event)?;
            Some((event.cluster_name.as_str(), (*event, to)))
        });
        states.collect()
    }

    /// Whether this publish led to the event.
    fn takes_step(&self, event: &Event) -> bool {
        if event.at.millis_since(self.last().at) > STEP_MILLIS {
            return false;
        }
        match event.kind {
            EventKind::PlacementDecided | EventKind::RolloutChanged => {
                event.severity == Severity::Note && event.actor == NO_PERSON
            }
            EventKind::ReleaseChanged => {
                let known = self.latest_states().get(event.cluster_name.as_str()).map(|(_, state)| *state);
                known.is_none_or(ReleaseState::is_in_transition)
            }
            _ => false,
        }
    }

    /// Whether another cluster joins in the same way, or a cluster that has joined begins to report: each of its kinds of events once.
    fn continues_join(&self, event: &Event) -> bool {
        let mut of_cluster =
            self.events.iter().filter(|other| other.cluster_name == event.cluster_name).peekable();
        if event.kind == self.first().kind {
            return event.actor == self.first().actor && of_cluster.peek().is_none();
        }
        of_cluster.peek().is_some()
            && is_first_report(event)
            && of_cluster.all(|other| other.kind != event.kind)
    }

    /// Whether the event continues or repeats what this group is about.
    fn continues(&self, event: &Event) -> bool {
        let (first, gap) = (self.first(), event.at.millis_since(self.last().at));
        if self.is_join() {
            return gap <= FOLD_MILLIS && self.continues_join(event);
        }
        if self.is_publish() || first.kind != event.kind {
            return false;
        }
        match event.kind {
            EventKind::ClusterConnectivity => {
                // The end of an outage has several events; what follows them is another one.
                let is_next = match is_recovery(self.last()) {
                    true => is_recovery(event) && gap <= FOLD_MILLIS,
                    false => gap <= STEP_MILLIS,
                };
                is_next && first.cluster_name == event.cluster_name
            }
            _ if gap > FOLD_MILLIS => false,
            EventKind::ReleaseChanged => {
                let follows = |other: &&Event| {
                    is_same_workload(other, event)
                        && (other.cluster_name == event.cluster_name || is_same_transition(other, event))
                };
                self.events.iter().any(follows)
            }
            EventKind::PlacementDecided => first.severity == event.severity && first.actor == event.actor,
            _ => is_same_change(first, event),
        }
    }
}

/// Whether the event is one of those with which a cluster that has joined begins to report.
fn is_first_report(event: &Event) -> bool {
    match &event.detail {
        Some(EventDetail::KubernetesVersion { from, .. }) => from.is_empty(),
        Some(EventDetail::AgentConnected { .. }) => true,
        _ => is_recovery(event),
    }
}

/// Whether a cluster is reachable after the event.
pub fn is_recovery(event: &Event) -> bool {
    use domain::cluster::Connectivity;
    matches!(
        event.detail,
        Some(
            EventDetail::Connectivity { to: Connectivity::Online, .. }
                | EventDetail::ApiServer { responds: true, .. }
        )
    )
}

/// The states before and after.
pub fn transition(event: &Event) -> Option<(ReleaseState, ReleaseState)> {
    match event.detail {
        Some(EventDetail::ReleaseState { from, to, .. }) => Some((from, to)),
        _ => None,
    }
}

fn is_same_workload(a: &Event, b: &Event) -> bool {
    a.workload == b.workload && a.workload_name == b.workload_name
}

/// Whether two clusters changed in the same way; if they fail, for the same reason.
fn is_same_transition(a: &Event, b: &Event) -> bool {
    let reason = |event: &Event| match &event.detail {
        // Restarts and numbers of pods differ.
        Some(EventDetail::ReleaseState { to, message, .. }) if to.is_failing() => {
            message.chars().filter(|c| !c.is_ascii_digit()).collect()
        }
        _ => String::new(),
    };
    transition(a) == transition(b) && reason(a) == reason(b)
}

/// Whether two events are the same change on two clusters, or a repetition.
fn is_same_change(a: &Event, b: &Event) -> bool {
    if !is_same_workload(a, b) || a.actor != b.actor {
        return false;
    }
    match (&a.detail, &b.detail) {
        (Some(EventDetail::Drift(drift)), Some(EventDetail::Drift(other))) => {
            drift.object == other.object && drift.outcome == other.outcome && drift.fields == other.fields
        }
        _ => a.message == b.message,
    }
}
