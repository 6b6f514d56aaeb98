//! Queue of reports for the hub: the latest complete state of each release, and the drift notes not sent yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ReleaseId;
use domain::report::ReleaseReport;
use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Default)]
struct QueueState {
    pending: Mutex<BTreeMap<ReleaseId, ReleaseReport>>,
    changed: Notify,
}

/// A queue with at most one report per release, within [`domain::report::limits`]. A newer report replaces an unread one;
/// their drift notes are merged.
#[derive(Clone, Default)]
pub struct ReportQueue(Arc<QueueState>);

impl ReportQueue {
    /// Waits until there is a report and removes all of them. Cancel safe.
    pub async fn next(&self) -> Vec<ReleaseReport> {
        loop {
            let notified = self.0.changed.notified();
            let reports = self.drain();
            if !reports.is_empty() {
                return reports;
            }
            notified.await;
        }
    }

    /// Removes all reports that are in the queue now.
    pub fn drain(&self) -> Vec<ReleaseReport> {
        let mut waiting = self.0.pending.lock();
        std::mem::take(&mut *waiting).into_values().collect()
    }

    pub(crate) fn push(&self, mut report: ReleaseReport) {
        let mut waiting = self.0.pending.lock();
        if let Some(older) = waiting.remove(&report.release) {
            let mut drift = older.drift;
            drift.append(&mut report.drift);
            report.drift = drift;
            report.drift_omitted = report.drift_omitted.saturating_add(older.drift_omitted);
        }
        report.truncate();
        waiting.insert(report.release, report);
        drop(waiting);
        self.0.changed.notify_one();
    }
}
