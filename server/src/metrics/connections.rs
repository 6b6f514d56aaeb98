//! Metrics of the listeners' connections and of attempts to sign in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hub::SignInStatistics;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{CounterFamily, set_counter};
use crate::listener::ConnectionStatistics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListenerLabels {
    listener: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignInLabels {
    outcome: &'static str,
}

/// What clients do that the limits are for.
#[derive(Debug, Default)]
pub(super) struct ConnectionMetrics {
    listeners: Mutex<Vec<(&'static str, Arc<ConnectionStatistics>)>>,
    open: Family<ListenerLabels, Gauge>,
    closed: CounterFamily<ListenerLabels>,
    refused: CounterFamily<ListenerLabels>,
    sign_in_attempts: CounterFamily<SignInLabels>,
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
        registry.register(
            "sign_in_attempts",
            "Attempts to sign in by outcome",
            metrics.sign_in_attempts.clone(),
        );
        metrics
    }

    /// Adds the connections of a listener.
    pub(super) fn add_listener(&self, name: &'static str, statistics: Arc<ConnectionStatistics>) {
        self.listeners.lock().push((name, statistics));
    }

    /// Sets them to what was counted.
    pub(super) fn update(&self, sign_in: &SignInStatistics) {
        for (listener, statistics) in self.listeners.lock().iter() {
            let labels = ListenerLabels { listener };
            let open = i64::try_from(statistics.open.load(Relaxed)).unwrap_or(i64::MAX);
            self.open.get_or_create(&labels).set(open);
            set_counter(&self.closed, &labels, statistics.closed.load(Relaxed));
            set_counter(&self.refused, &labels, statistics.refused.load(Relaxed));
        }
        let outcomes: [(&'static str, &AtomicU64); 3] =
            [("succeeded", &sign_in.succeeded), ("failed", &sign_in.failed), ("rejected", &sign_in.rejected)];
        for (outcome, count) in outcomes {
            set_counter(&self.sign_in_attempts, &SignInLabels { outcome }, count.load(Relaxed));
        }
    }
}
