//! Transactions, and the writes that are collected for their commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::event::NewEvent;
use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use domain::{ClusterId, Timestamp, WorkloadId};
use sqlx::{Any, AnyConnection, Transaction};

use crate::sql::sql;
use crate::statistics::StatisticsCounters;
use crate::{Error, cluster, event, release};

/// The database engine of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseEngine {
    Sqlite,
    Postgres,
}

/// A transaction. Dropped without [`Tx::commit`], it is rolled back.
///
/// Updates of rows that all writers share (counts, desired-state versions, events) are collected here and written at
/// the commit, in sorted order. So writers wait for each other only for the time of a commit, and cannot deadlock on
/// these rows.
pub struct Tx {
    inner: Transaction<'static, Any>,
    engine: DatabaseEngine,
    is_write: bool,
    statistics: Arc<StatisticsCounters>,
    pub(crate) count_deltas: BTreeMap<(WorkloadId, ReleaseState), i64>,
    pub(crate) changed_desired_states: BTreeSet<ClusterId>,
    pub(crate) pending_events: Vec<(NewEvent, Timestamp)>,
    wakes_servers: bool,
}

/// The result of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitOutcome {
    /// Position of the last event that the transaction appended, if any.
    pub last_event: Option<i64>,
}

impl Tx {
    pub(crate) fn new(
        inner: Transaction<'static, Any>,
        engine: DatabaseEngine,
        is_write: bool,
        statistics: Arc<StatisticsCounters>,
    ) -> Self {
        statistics.count_transaction(is_write);
        Self {
            inner,
            engine,
            is_write,
            statistics,
            count_deltas: BTreeMap::new(),
            changed_desired_states: BTreeSet::new(),
            pending_events: Vec::new(),
            wakes_servers: false,
        }
    }

    /// The connection, for one statement.
    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        self.statistics.count_statement();
        &mut self.inner
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.engine == DatabaseEngine::Postgres
    }

    /// The clause that locks selected rows: none on SQLite, which has one writer at a time. Not `FOR UPDATE`, which
    /// would also block writes of rows that only reference them.
    pub(crate) fn locking_clause(&self) -> &'static str {
        if self.is_write && self.engine == DatabaseEngine::Postgres { " FOR NO KEY UPDATE" } else { "" }
    }

    /// The clause of a claim: skips rows that another claim has locked.
    pub(crate) fn claiming_clause(&self) -> &'static str {
        if self.engine == DatabaseEngine::Postgres { " FOR UPDATE SKIP LOCKED" } else { "" }
    }

    /// Wakes the other servers when this transaction commits; once, however often it is called.
    pub fn notify_on_commit(&mut self) {
        self.wakes_servers = true;
    }

    /// Adds to the counts of a workload at the commit.
    pub(crate) fn add_count(&mut self, workload: WorkloadId, state: ReleaseState, n: i64) {
        let delta = self.count_deltas.entry((workload, state)).or_default();
        *delta += n;
        if *delta == 0 {
            self.count_deltas.remove(&(workload, state));
        }
    }

    /// Adds the pending deltas of this transaction to `count_deltas`.
    pub(crate) fn add_pending_counts(&self, workload: WorkloadId, counts: &mut ReleaseCounts) {
        let range =
            (workload, ReleaseState::ALL[0])..=(workload, ReleaseState::ALL[ReleaseState::ALL.len() - 1]);
        for ((_, state), delta) in self.count_deltas.range(range) {
            let n = i64::from(counts.count(*state)).saturating_add(*delta);
            counts.0.remove(state);
            counts.add(*state, u32::try_from(n).unwrap_or(0));
        }
    }

    /// Rolls back and waits until the locks are released. A dropped transaction releases its locks shortly after the
    /// drop.
    pub async fn rollback(self) -> Result<(), Error> {
        Ok(self.inner.rollback().await?)
    }

    /// Commits durably. After an error it is unknown whether anything was written; after [`Error::DatabaseUnavailable`] the whole
    /// transaction may be retried.
    pub async fn commit(mut self) -> Result<CommitOutcome, Error> {
        release::flush_counts(&mut self).await?;
        cluster::flush_desired_state(&mut self).await?;
        let last_event = event::flush(&mut self).await?;
        if self.wakes_servers && self.engine == DatabaseEngine::Postgres {
            sql("NOTIFY flotilla").execute(&mut self).await?;
        }
        self.inner.commit().await?;
        Ok(CommitOutcome { last_event })
    }
}
