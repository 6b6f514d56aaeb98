//! Live changes: signals, not data (DESIGN 3.11). Who is told looks again.

use domain::event::Event;
use domain::{ClusterId, ReleaseId, WorkloadId};
use serde::{Deserialize, Serialize};

/// Something changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Position of the event in the log; resume after it.
    pub seq: i64,
    /// The kind of the event, such as `releaseChanged`.
    pub kind: String,
    /// The workload, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadId>,
    /// The cluster, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// The release, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseId>,
}

impl Change {
    /// The change that one event is.
    pub fn of(event: &Event) -> Self {
        Self {
            seq: event.seq,
            kind: event.kind.word(),
            workload: event.workload,
            cluster: event.cluster,
            release: event.release,
        }
    }

    /// The changes that many events are, oldest first; of those about the same things only the last.
    pub fn of_many(events: &[Event]) -> Vec<Self> {
        let mut changes: Vec<Self> = Vec::new();
        for change in events.iter().map(Self::of) {
            changes.retain(|earlier| !earlier.is_about_the_same(&change));
            changes.push(change);
        }
        changes
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        (self.workload, self.cluster, self.release) == (other.workload, other.cluster, other.release)
    }
}

/// What the stream says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// The stream is open (again): look once, because something may have changed in between.
    Open,
    /// Something changed.
    Change(Change),
    /// Too much was missed to tell: look at everything again.
    Resync,
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::event::EventKind;
    use domain::finding::Severity;

    use super::*;

    fn event(seq: i64, kind: EventKind, workload: u64, cluster: u64) -> Event {
        Event {
            seq,
            at: Timestamp::from_millis(0),
            kind,
            severity: Severity::Note,
            workload: (workload > 0).then(|| WorkloadId::from_parts(workload, 0)),
            workload_name: String::new(),
            cluster: (cluster > 0).then(|| ClusterId::from_parts(cluster, 0)),
            cluster_name: String::new(),
            release: None,
            actor: String::new(),
            message: String::new(),
        }
    }

    #[test]
    fn of_a_burst_about_one_thing_the_last_change_is_told() {
        let events = [
            event(4, EventKind::ReleaseChanged, 1, 1),
            event(5, EventKind::ReleaseChanged, 1, 2),
            event(6, EventKind::DriftHealed, 1, 1),
        ];
        let changes = Change::of_many(&events);
        let told: Vec<_> = changes.iter().map(|change| (change.seq, &*change.kind)).collect();
        assert_eq!(told, [(5, "releaseChanged"), (6, "driftHealed")]);
    }
}
