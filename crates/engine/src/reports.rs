//! What is to be told to the hub: the latest whole state of each release, and every drift note until it is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ReleaseId;
use domain::report::ReleaseReport;
use tokio::sync::Notify;

#[derive(Default)]
struct Inner {
    waiting: Mutex<BTreeMap<ReleaseId, ReleaseReport>>,
    news: Notify,
}

/// Receives reports. A report that is not taken before the next one about the same release is replaced by it, but for
/// its drift notes, which add up.
#[derive(Clone, Default)]
pub struct Reports(Arc<Inner>);

impl Reports {
    /// Waits for news and takes all there is: at most one report per release. Cancel safe.
    pub async fn next(&self) -> Vec<ReleaseReport> {
        loop {
            let news = self.0.news.notified();
            let taken = self.take();
            if !taken.is_empty() {
                return taken;
            }
            news.await;
        }
    }

    /// Takes all there is now.
    pub fn take(&self) -> Vec<ReleaseReport> {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting).into_values().collect()
    }

    pub(crate) fn put(&self, mut report: ReleaseReport) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(older) = waiting.remove(&report.release) {
            let mut drift = older.drift;
            drift.append(&mut report.drift);
            report.drift = drift;
        }
        waiting.insert(report.release, report);
        drop(waiting);
        self.0.news.notify_one();
    }
}
