//! What a page shows of an event. The server makes it from the event, so that the module of the first pages need not contain
//! the decoder of every kind of detail.

use domain::Timestamp;
use domain::cluster::Connectivity;
use domain::event::EventKind;
#[cfg(feature = "ssr")]
use domain::event::{Event, EventDetail};
use domain::finding::Severity;
use domain::release::ReleaseState;
use serde::{Deserialize, Serialize};

#[cfg(feature = "ssr")]
use crate::paths;

/// An event without its detail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventSummary {
    /// Position in the log.
    pub seq: i64,
    /// When it happened.
    pub at: Timestamp,
    /// What it is about.
    pub kind: EventKind,
    /// Its severity.
    pub severity: Severity,
    /// The state after it, if a release changed its state.
    pub state: Option<ReleaseState>,
    /// The connectivity after it, if a cluster changed that.
    pub connectivity: Option<Connectivity>,
    /// The name of the workload, else of the cluster; empty if it is about neither.
    pub subject: String,
    /// The workload, if the message does not name it; else empty.
    pub unnamed_workload: String,
    /// Who caused it.
    pub actor: String,
    /// A sentence for people.
    pub message: String,
    /// The page of its subject.
    pub href: String,
}

#[cfg(feature = "ssr")]
impl EventSummary {
    /// Summarises an event.
    pub fn from_event(event: &Event) -> Self {
        let (state, connectivity) = match event.detail {
            Some(EventDetail::ReleaseState { to, .. }) => (Some(to), None),
            Some(EventDetail::Connectivity { to, .. }) => (None, Some(to)),
            _ => (None, None),
        };
        let subject = if event.workload_name.is_empty() { &event.cluster_name } else { &event.workload_name };
        Self {
            seq: event.seq,
            at: event.at,
            kind: event.kind,
            severity: event.severity,
            state,
            connectivity,
            subject: subject.clone(),
            unnamed_workload: unnamed_workload(event).to_owned(),
            actor: event.actor.clone(),
            message: event.message.clone(),
            href: event_address(event),
        }
    }
}

/// The workload of an event whose message does not name it; empty for the others. Every message about a cluster names it.
#[cfg(feature = "ssr")]
fn unnamed_workload(event: &Event) -> &str {
    let is_named = event.detail.as_ref().is_none_or(EventDetail::message_names_workload);
    if is_named { "" } else { &event.workload_name }
}

#[cfg(feature = "ssr")]
fn event_address(event: &Event) -> String {
    let gone = matches!(event.kind, EventKind::WorkloadDeleted | EventKind::ClusterDeleted);
    match (event.workload_name.as_str(), event.cluster_name.as_str()) {
        (workload, cluster) if !workload.is_empty() && !cluster.is_empty() && !gone => {
            paths::release(workload, cluster)
        }
        (workload, _) if !workload.is_empty() && !gone => paths::workload(workload),
        (_, cluster) if !cluster.is_empty() && !gone && event.cluster.is_some() => paths::cluster(cluster),
        _ => paths::EVENTS.to_owned(),
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(workload: &str, message: &str, detail: serde_json::Value) -> Event {
        serde_json::from_value(json!({
            "seq": 1, "at": "2026-01-01T00:00:00Z", "kind": "driftHealed", "severity": "note", "actor": "flotilla",
            "workloadName": workload, "clusterName": "edge-1", "message": message, "detail": detail,
        }))
        .unwrap()
    }

    #[test]
    fn the_workload_is_shown_beside_a_message_that_does_not_name_it() {
        let object = json!({ "version": "v1", "kind": "ConfigMap", "namespace": "web", "name": "web" });
        let drift = json!({ "type": "drift", "object": object, "outcome": "healed" });
        // The name of the object contains the name of the workload.
        let event_of_object = event("web", "ConfigMap web/web was deleted on edge-1 and reverted.", drift);
        assert_eq!(unnamed_workload(&event_of_object), "web");
        let published = json!({ "type": "published", "revision": 1 });
        assert_eq!(unnamed_workload(&event("web", "web revision 1 was published.", published)), "");
    }
}
