//! Live notices: "something with position n happened", nothing more. Who is told looks again (docs/decisions/0001).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use domain::ClusterId;
use tokio::sync::watch;

use crate::Hub;

/// Follows the position of the last event.
pub type Notices = watch::Receiver<i64>;

/// Who waits for what.
pub(crate) struct Live {
    events: watch::Sender<i64>,
    /// One channel per cluster that an agent is waiting for; the value only counts wake-ups.
    wants: Mutex<HashMap<ClusterId, watch::Sender<u64>>>,
    /// Counts answers to plans.
    plans: watch::Sender<u64>,
}

impl Live {
    pub fn new(last_seq: i64) -> Self {
        Self { events: watch::Sender::new(last_seq), wants: Mutex::default(), plans: watch::Sender::new(0) }
    }

    /// The log has grown to `seq`.
    pub fn event(&self, seq: i64) {
        self.events.send_if_modified(|last| {
            let newer = seq > *last;
            *last = seq.max(*last);
            newer
        });
    }

    pub fn events(&self) -> Notices {
        self.events.subscribe()
    }

    /// An agent has answered a plan's question.
    pub fn plan(&self) {
        self.plans.send_modify(|count| *count += 1);
    }

    pub fn plans(&self) -> watch::Receiver<u64> {
        self.plans.subscribe()
    }

    /// These clusters have something new to do.
    pub fn wants(&self, clusters: &[ClusterId]) {
        let waiting = self.wants.lock().unwrap_or_else(PoisonError::into_inner);
        for cluster in clusters {
            if let Some(sender) = waiting.get(cluster) {
                sender.send_modify(|count| *count += 1);
            }
        }
    }

    /// Every waiting agent should look: another server has written.
    pub fn all_wants(&self) {
        let waiting = self.wants.lock().unwrap_or_else(PoisonError::into_inner);
        for sender in waiting.values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    pub fn wants_of(&self, cluster: ClusterId) -> watch::Receiver<u64> {
        let mut waiting = self.wants.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(cluster).or_default().subscribe()
    }
}

impl Hub {
    /// The position of the last event, as it grows.
    pub fn notices(&self) -> Notices {
        self.live().events()
    }
}
