//! Metrics of the encryption of the database.

use hub::{EncryptionMode, EncryptionStatus};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{ModeLabels, UnsignedGauge};

/// How far encryption is.
#[derive(Debug)]
pub struct EncryptionMetrics {
    mode: Family<ModeLabels, UnsignedGauge>,
    pending_columns: UnsignedGauge,
    checked_rows: UnsignedGauge,
    data_keys: UnsignedGauge,
}

impl EncryptionMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            mode: Family::default(),
            pending_columns: Gauge::default(),
            checked_rows: Gauge::default(),
            data_keys: Gauge::default(),
        };
        registry.register(
            "encryption_mode",
            "Whether values are in clear text (waiting), being encrypted (running) or all encrypted (complete)",
            metrics.mode.clone(),
        );
        registry.register(
            "encryption_pending_columns",
            "Columns whose values are still being encrypted with the active key",
            metrics.pending_columns.clone(),
        );
        registry.register(
            "encryption_checked_rows",
            "Rows read in the current or last round of encryption",
            metrics.checked_rows.clone(),
        );
        registry.register("encryption_data_keys", "Data keys", metrics.data_keys.clone());
        metrics
    }

    /// Sets the metrics.
    pub fn update(&self, status: &EncryptionStatus) {
        for mode in EncryptionMode::ALL {
            let gauge = self.mode.get_or_create(&ModeLabels { mode: mode.as_str() });
            gauge.set(u64::from(mode == status.mode));
        }
        let pending = status.progress.iter().filter(|one| !one.is_done).count();
        self.pending_columns.set(pending as u64);
        self.checked_rows.set(status.progress.iter().map(|one| one.checked).sum());
        self.data_keys.set(status.keys.len() as u64);
    }
}
