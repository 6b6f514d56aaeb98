//! Metrics of the file of the audit log.

use domain::server_status::AuditFileStatus;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::UnsignedGauge;

/// How far the file is.
#[derive(Debug)]
pub struct AuditFileMetrics {
    position: Gauge,
    behind: Gauge,
    blocked: UnsignedGauge,
}

impl AuditFileMetrics {
    /// Registers the metrics. Without a file they are 0.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics =
            Self { position: Gauge::default(), behind: Gauge::default(), blocked: Gauge::default() };
        registry.register(
            "audit_file_position",
            "Position of the last entry of the audit log that is in its file",
            metrics.position.clone(),
        );
        registry.register(
            "audit_file_behind",
            "Entries of the audit log that are not in its file yet",
            metrics.behind.clone(),
        );
        registry.register(
            "audit_file_blocked",
            "Whether the audit log can't be appended to its file",
            metrics.blocked.clone(),
        );
        metrics
    }

    /// Sets the metrics.
    pub fn update(&self, status: &AuditFileStatus) {
        self.position.set(status.position);
        self.behind.set(status.behind);
        self.blocked.set(u64::from(status.problem.is_some()));
    }
}
