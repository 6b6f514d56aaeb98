//! Metrics of the listeners' connections.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{Counters, set_counter};
use crate::listener::ConnectionStatistics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListenerLabels {
    listener: &'static str,
}

/// What happens to connections.
#[derive(Debug, Default)]
pub(super) struct ConnectionMetrics {
    listeners: Mutex<Vec<(&'static str, Arc<ConnectionStatistics>)>>,
    open: Family<ListenerLabels, Gauge>,
    closed: Counters<ListenerLabels>,
    refused: Counters<ListenerLabels>,
}

impl ConnectionMetrics {
    /// Registers them.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("connections", "Open connections", metrics.open.clone());
        registry.register(
            "connections_closed",
            "Waiting connections that were closed for new ones",
            metrics.closed.clone(),
        );
        registry.register("connections_refused", "Connections beyond a limit", metrics.refused.clone());
        metrics
    }

    /// Adds the connections of a listener.
    pub(super) fn add_listener(&self, name: &'static str, statistics: Arc<ConnectionStatistics>) {
        self.listeners.lock().push((name, statistics));
    }

    /// Sets them to what was counted.
    pub(super) fn update(&self) {
        for (listener, statistics) in self.listeners.lock().iter() {
            let labels = ListenerLabels { listener };
            let open = i64::try_from(statistics.open.load(Relaxed)).unwrap_or(i64::MAX);
            self.open.get_or_create(&labels).set(open);
            set_counter(&self.closed, &labels, statistics.closed.load(Relaxed));
            set_counter(&self.refused, &labels, statistics.refused.load(Relaxed));
        }
    }
}
