//! Whether the database is in an outage now, observed at every statement: counted, logged when it begins and when it ends, and
//! announced to those that show it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{DatabaseOutage, Error};

/// A commit ends an outage of writes if none has failed for this long: a disk that is full for large writes may still take
/// small ones.
const COMMIT_GRACE: Duration = Duration::from_secs(10);
/// An outage of writes counts as over if none has failed for this long: without requests nothing shows its end.
const EXPIRY: Duration = Duration::from_secs(60);

/// The outage of a store now.
#[derive(Debug)]
pub(crate) struct OutageMonitor {
    current: watch::Sender<Option<DatabaseOutage>>,
    last_failure: Mutex<Option<Instant>>,
    counts: [AtomicU64; DatabaseOutage::ALL.len()],
}

impl Default for OutageMonitor {
    fn default() -> Self {
        Self { current: watch::Sender::new(None), last_failure: Mutex::default(), counts: Default::default() }
    }
}

impl OutageMonitor {
    /// Observes the result of a statement, or of the commit of a write. [`DatabaseOutage::TimedOut`] is only counted: a lock that is
    /// held for long is no outage of the database. A successful statement ends only the outage in which none succeeds.
    pub fn observe<T>(&self, result: &Result<T, Error>, is_commit: bool) {
        match result {
            Ok(_) => self.record_success(is_commit),
            Err(Error::Unavailable(outage, _)) => self.record_failure(*outage),
            Err(Error::CommitOutcomeUnknown(_)) => self.record_failure(DatabaseOutage::Unreachable),
            Err(_) => {}
        }
    }

    fn record_success(&self, is_commit: bool) {
        let current = *self.current.borrow();
        match current {
            None => {}
            Some(DatabaseOutage::Unreachable) => self.set(None),
            Some(_) if is_commit => self.end_after(COMMIT_GRACE),
            Some(_) => {}
        }
    }

    fn record_failure(&self, outage: DatabaseOutage) {
        self.counts[outage as usize].fetch_add(1, Relaxed);
        if outage != DatabaseOutage::TimedOut {
            *self.last_failure.lock() = Some(Instant::now());
            self.set(Some(outage));
        }
    }

    /// Ends an outage of which nothing was seen for a minute.
    pub fn expire(&self) {
        self.end_after(EXPIRY);
    }

    /// Ends the outage if no failure was observed for this long.
    fn end_after(&self, silence: Duration) {
        if self.last_failure.lock().is_some_and(|at| at.elapsed() > silence) {
            self.set(None);
        }
    }

    fn set(&self, outage: Option<DatabaseOutage>) {
        if *self.current.borrow() == outage {
            return;
        }
        let was = self.current.send_replace(outage);
        match (was, outage) {
            (_, Some(outage)) => {
                tracing::warn!(outage = outage.as_str(), "an outage of the database: {outage}")
            }
            (Some(was), None) => {
                let failures = self.count(was);
                tracing::info!(
                    outage = was.as_str(),
                    failures,
                    "the outage of the database has ended; the number of failures is since the start of this server"
                );
            }
            (None, None) => {}
        }
    }

    /// Follows the outage; the value is that of now.
    pub fn subscribe(&self) -> watch::Receiver<Option<DatabaseOutage>> {
        self.current.subscribe()
    }

    /// How many statements and commits failed with this outage.
    pub fn count(&self, outage: DatabaseOutage) -> u64 {
        self.counts[outage as usize].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(outage: DatabaseOutage) -> Result<(), Error> {
        Err(Error::Unavailable(outage, sqlx::Error::WorkerCrashed))
    }

    #[tokio::test(start_paused = true)]
    async fn p21_a_read_ends_an_outage_of_reads_a_commit_any_and_time_one_that_nobody_meets() {
        let monitor = OutageMonitor::default();
        let now = monitor.subscribe();
        monitor.observe(&failed(DatabaseOutage::Unreachable), false);
        assert_eq!(*now.borrow(), Some(DatabaseOutage::Unreachable));
        monitor.observe(&Ok(()), false);
        assert_eq!(*now.borrow(), None);
        monitor.observe(&failed(DatabaseOutage::DiskFull), false);
        monitor.observe(&Ok(()), false);
        assert_eq!(*now.borrow(), Some(DatabaseOutage::DiskFull), "reads continue on a full disk");
        monitor.observe(&Ok(()), true);
        assert_eq!(*now.borrow(), Some(DatabaseOutage::DiskFull), "a full disk takes small writes");
        tokio::time::advance(COMMIT_GRACE + Duration::from_secs(1)).await;
        monitor.observe(&Ok(()), true);
        assert_eq!(*now.borrow(), None);
        monitor.observe(&failed(DatabaseOutage::ReadOnly), false);
        monitor.observe(&failed(DatabaseOutage::TimedOut), false);
        monitor.expire();
        assert_eq!(*now.borrow(), Some(DatabaseOutage::ReadOnly), "a lock that is held is no outage");
        tokio::time::advance(EXPIRY + Duration::from_secs(1)).await;
        monitor.expire();
        assert_eq!(*now.borrow(), None);
        assert_eq!(DatabaseOutage::ALL.map(|outage| monitor.count(outage)), [1, 1, 1, 1]);
    }
}
