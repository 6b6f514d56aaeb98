//! Counts of the transactions and statements of a store, so that a test can assert the number of reads of an operation.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The transactions begun and statements executed since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreStatistics {
    /// Read transactions.
    pub reads: u64,
    /// Write transactions.
    pub writes: u64,
    /// Statements within transactions, without BEGIN and COMMIT.
    pub statements: u64,
    /// Transactions that PostgreSQL cancelled because of a deadlock.
    pub deadlocks: u64,
}

impl StoreStatistics {
    /// The counts since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            statements: self.statements - earlier.statements,
            deadlocks: self.deadlocks - earlier.deadlocks,
        }
    }
}

/// The counters of one store, shared with its transactions.
#[derive(Debug, Default)]
pub(crate) struct StatisticsCounters {
    reads: AtomicU64,
    writes: AtomicU64,
    statements: AtomicU64,
    deadlocks: AtomicU64,
}

impl StatisticsCounters {
    pub(crate) fn count_transaction(&self, is_write: bool) {
        let counter = if is_write { &self.writes } else { &self.reads };
        counter.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_statement(&self) {
        self.statements.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_deadlock(&self) {
        self.deadlocks.fetch_add(1, Relaxed);
    }

    pub(crate) fn load(&self) -> StoreStatistics {
        StoreStatistics {
            reads: self.reads.load(Relaxed),
            writes: self.writes.load(Relaxed),
            statements: self.statements.load(Relaxed),
            deadlocks: self.deadlocks.load(Relaxed),
        }
    }
}
