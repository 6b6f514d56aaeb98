//! Live notices. A notice carries only a position or a counter; the receiver reads the data again (docs/decisions/0001).

use std::collections::HashMap;

use domain::ClusterId;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Hub;

/// Receives the position of the last event.
pub type EventPositions = watch::Receiver<i64>;

/// The channels of live notices.
pub(crate) struct LiveNotices {
    events: watch::Sender<i64>,
    /// One channel per cluster whose agent waits for its desired state; the value counts notices.
    desired_state: Mutex<HashMap<ClusterId, watch::Sender<u64>>>,
    /// Counts answers of agents to requests: dry runs of plans, Helm releases.
    answers: watch::Sender<u64>,
    /// Counts changes by this server that may have ended a session, a token or a role.
    credentials: watch::Sender<u64>,
}

impl LiveNotices {
    pub fn new(last_seq: i64) -> Self {
        Self {
            events: watch::Sender::new(last_seq),
            desired_state: Mutex::default(),
            answers: watch::Sender::new(0),
            credentials: watch::Sender::new(0),
        }
    }

    /// Publishes the position of a new event.
    pub fn notify_event(&self, seq: i64) {
        self.events.send_if_modified(|last| {
            let is_newer = seq > *last;
            *last = seq.max(*last);
            is_newer
        });
    }

    pub fn subscribe_events(&self) -> EventPositions {
        self.events.subscribe()
    }

    /// Notifies that an agent answered a request.
    pub fn notify_answer(&self) {
        self.answers.send_modify(|count| *count += 1);
    }

    pub fn subscribe_answers(&self) -> watch::Receiver<u64> {
        self.answers.subscribe()
    }

    /// Notifies that a session, a token or a role may have ended.
    pub fn notify_credentials(&self) {
        self.credentials.send_modify(|count| *count += 1);
    }

    pub fn subscribe_credentials(&self) -> watch::Receiver<u64> {
        self.credentials.subscribe()
    }

    /// Notifies that the desired state of these clusters changed.
    pub fn notify_desired_state(&self, clusters: &[ClusterId]) {
        let channels = self.desired_state.lock();
        for cluster in clusters {
            if let Some(sender) = channels.get(cluster) {
                sender.send_modify(|count| *count += 1);
            }
        }
    }

    /// Notifies every waiting agent: another server has written.
    pub fn notify_all_desired_states(&self) {
        let channels = self.desired_state.lock();
        for sender in channels.values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    pub fn subscribe_desired_state(&self, cluster: ClusterId) -> watch::Receiver<u64> {
        let mut channels = self.desired_state.lock();
        channels.entry(cluster).or_default().subscribe()
    }
}

impl Hub {
    /// Subscribes to the position of the last event.
    pub fn subscribe_events(&self) -> EventPositions {
        self.live().subscribe_events()
    }
}
