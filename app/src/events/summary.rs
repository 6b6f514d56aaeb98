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
            actor: event.actor.clone(),
            message: event.message.clone(),
            href: event_address(event),
        }
    }
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
