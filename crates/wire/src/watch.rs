//! Live change notices. They carry no data: the receiver queries again.

use domain::event::Event;
use domain::{ClusterId, ReleaseId, WorkloadId};
use serde::{Deserialize, Serialize};

/// Notice of one change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangeNotice {
    /// Position of the event in the log; a stream resumes after it.
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

impl ChangeNotice {
    /// The notice of one event.
    pub fn from_event(event: &Event) -> Self {
        Self {
            seq: event.seq,
            kind: event.kind.to_json_name(),
            workload: event.workload,
            cluster: event.cluster,
            release: event.release,
        }
    }

    /// The notices of events, oldest first; of those about the same objects only the last.
    pub fn from_events(events: &[Event]) -> Vec<Self> {
        let mut changes: Vec<Self> = Vec::new();
        for change in events.iter().map(Self::from_event) {
            changes.retain(|earlier| !earlier.has_same_subject(&change));
            changes.push(change);
        }
        changes
    }

    fn has_same_subject(&self, other: &Self) -> bool {
        (self.workload, self.cluster, self.release) == (other.workload, other.cluster, other.release)
    }
}

/// An item of the watch stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// The stream was (re)opened: query once, because changes may have been missed.
    Opened,
    /// Something changed.
    Changed(ChangeNotice),
    /// The missed changes can't be replayed: query everything again.
    ResyncRequired,
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
            detail: None,
        }
    }

    #[test]
    fn of_a_burst_about_one_object_only_the_last_change_is_reported() {
        let events = [
            event(4, EventKind::ReleaseChanged, 1, 1),
            event(5, EventKind::ReleaseChanged, 1, 2),
            event(6, EventKind::DriftHealed, 1, 1),
        ];
        let changes = ChangeNotice::from_events(&events);
        let notices: Vec<_> = changes.iter().map(|change| (change.seq, &*change.kind)).collect();
        assert_eq!(notices, [(5, "releaseChanged"), (6, "driftHealed")]);
    }
}
