//! Transactions, and the writes that are collected for their commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::audit::AuditRecord;
use domain::event::NewEvent;
use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use domain::{ClusterId, Timestamp, WorkloadId};
use sqlx::{Any, AnyConnection, AnyPool, Transaction};

use crate::outage::{DatabaseOutage, classify_commit_error};
use crate::outage_monitor::OutageMonitor;
use crate::queue::{self, PendingMarks, WorkloadQueue};
use crate::sealed::Keyring;
use crate::sql::sql;
use crate::statistics::StatisticsCounters;
use crate::{Error, audit, cluster, event, incident, release};

/// Maximum wait for the answer to a statement: the statement timeout that PostgreSQL itself has, and a margin. It ends the
/// wait on a connection over which nothing arrives any more, such as that to a host that failed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);

/// The database engine of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseEngine {
    Sqlite,
    Postgres,
}

impl DatabaseEngine {
    /// Waits for the answer to a statement, no longer than [`ANSWER_TIMEOUT`]. SQLite answers always: it has no network.
    pub(crate) async fn wait_for_answer<T>(
        self,
        statement: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        match self {
            Self::Sqlite => statement.await,
            Self::Postgres => {
                let answered = tokio::time::timeout(ANSWER_TIMEOUT, statement).await;
                answered.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())))
            }
        }
    }
}

/// What the transactions of a store share.
#[derive(Debug, Clone)]
pub(crate) struct TxContext {
    pub engine: DatabaseEngine,
    pub statistics: Arc<StatisticsCounters>,
    pub outages: Arc<OutageMonitor>,
    pub keyring: Arc<Keyring>,
    #[cfg(debug_assertions)]
    pub fault: Arc<crate::injected_fault::InjectedFault>,
}

impl TxContext {
    /// Begins a transaction on a connection of the pool.
    ///
    /// A task of its own does it, because callers are cancelled, such as a request whose client is gone: sqlx returns a
    /// connection whose `BEGIN` was cancelled to the pool with the transaction open, and the next one would run in it.
    pub(crate) async fn begin(
        self,
        pool: &AnyPool,
        begin: &'static str,
        is_write: bool,
    ) -> Result<Tx, Error> {
        let (engine, pool) = (self.engine, pool.clone());
        let begun = tokio::spawn(async move { engine.wait_for_answer(pool.begin_with(begin)).await });
        // It is not cancelled: an error is a panic, or the end of the runtime.
        let begun = begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed)).map_err(Error::from);
        #[cfg(debug_assertions)]
        let begun = self.fault.check().and(begun);
        self.outages.observe(&begun, false);
        Ok(Tx::new(begun?, self, is_write))
    }
}

/// Executes the statements of a transaction.
pub(crate) struct StatementRunner {
    context: TxContext,
    is_write: bool,
}

impl StatementRunner {
    /// Executes a statement.
    pub(crate) async fn run<T>(
        self,
        statement: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, Error> {
        let result = match self.context.engine.wait_for_answer(statement).await.map_err(Error::from) {
            // A write in a read transaction is a defect, not an outage.
            Err(Error::Unavailable(DatabaseOutage::ReadOnly, error)) if !self.is_write => {
                Err(Error::Database(error))
            }
            result => result,
        };
        if let Err(Error::Unavailable(_, error)) = &result
            && is_deadlock(error)
        {
            self.context.statistics.count_deadlock();
            tracing::warn!(%error, "a transaction was cancelled because of a deadlock: rows are not locked in one order");
        }
        self.context.outages.observe(&result, false);
        result
    }
}

/// Whether PostgreSQL cancelled a transaction because it and another one waited for each other.
fn is_deadlock(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(cause) if cause.code().as_deref() == Some("40P01"))
}

/// A transaction. Dropped without [`Tx::commit`], it is rolled back.
///
/// Updates of rows that all writers share (marks of queues, counts, desired-state versions, audit log, events) are collected here and
/// written at the commit, in this order of tables and sorted within each. So writers wait for each other only for the time of a commit,
/// and cannot deadlock on these rows.
///
/// Other rows that more than one transaction writes are locked in one order of tables, and by id within a table; it is listed in
/// `docs/consistency.md`. A transaction that writes several rows of a table locks them first, sorted: one statement that updates several
/// rows locks them in the order in which it finds them.
pub struct Tx {
    inner: Transaction<'static, Any>,
    context: TxContext,
    is_write: bool,
    pub(crate) count_deltas: BTreeMap<(WorkloadId, ReleaseState), i64>,
    pub(crate) changed_desired_states: BTreeSet<ClusterId>,
    pub(crate) pending_events: Vec<(NewEvent, Timestamp)>,
    pub(crate) pending_audit: Option<Box<(AuditRecord, Timestamp)>>,
    pub(crate) incident_marks: BTreeMap<WorkloadId, IncidentMark>,
    pub(crate) queue_marks: BTreeMap<WorkloadQueue, PendingMarks>,
    wakes_servers: bool,
    /// Whether the response of its request has to be stored before the commit.
    owes_response: bool,
}

/// A workload whose incidents may change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IncidentMark {
    /// Whether an incident may open: a release fails or drifts, or the workload as a whole has a cause. Otherwise only a tracked workload
    /// is marked.
    pub may_open: bool,
    /// When.
    pub at: Timestamp,
}

/// The result of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitOutcome {
    /// Position of the last event that the transaction appended, if any.
    pub last_event: Option<i64>,
    /// Whether incidents of a workload may change.
    pub has_incident_marks: bool,
    /// Whether a workload was marked for the placer.
    pub has_placer_marks: bool,
}

impl Tx {
    fn new(inner: Transaction<'static, Any>, context: TxContext, is_write: bool) -> Self {
        context.statistics.count_transaction(is_write);
        Self {
            inner,
            context,
            is_write,
            count_deltas: BTreeMap::new(),
            changed_desired_states: BTreeSet::new(),
            pending_events: Vec::new(),
            pending_audit: None,
            incident_marks: BTreeMap::new(),
            queue_marks: BTreeMap::new(),
            wakes_servers: false,
            owes_response: false,
        }
    }

    /// The connection, for one statement.
    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        self.context.statistics.count_statement();
        &mut self.inner
    }

    /// Executes the statements of this transaction.
    pub(crate) fn runner(&self) -> StatementRunner {
        StatementRunner { context: self.context.clone(), is_write: self.is_write }
    }

    /// The keys of encrypted columns.
    pub(crate) fn keyring(&self) -> &Arc<Keyring> {
        &self.context.keyring
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.context.engine == DatabaseEngine::Postgres
    }

    /// The clause that locks selected rows: none on SQLite, which has one writer at a time. Not `FOR UPDATE`, which
    /// would also block writes of rows that only reference them.
    pub(crate) fn locking_clause(&self) -> &'static str {
        if self.is_write && self.context.engine == DatabaseEngine::Postgres {
            " FOR NO KEY UPDATE"
        } else {
            ""
        }
    }

    /// The clause that keeps selected rows from being changed or deleted until the transaction ends; others may share the lock.
    pub(crate) fn sharing_clause(&self) -> &'static str {
        if self.is_write && self.context.engine == DatabaseEngine::Postgres { " FOR SHARE" } else { "" }
    }

    /// The clause that keeps selected rows from being deleted until the transaction ends, as a reference to them does. They may be changed.
    pub(crate) fn referencing_clause(&self) -> &'static str {
        if self.is_write && self.context.engine == DatabaseEngine::Postgres { " FOR KEY SHARE" } else { "" }
    }

    /// The expression for the number of elements of an array in a column with JSON.
    pub(crate) fn json_array_length(&self, column: &str) -> String {
        match self.context.engine {
            DatabaseEngine::Sqlite => format!("json_array_length({column})"),
            DatabaseEngine::Postgres => format!("json_array_length({column}::json)"),
        }
    }

    /// The clause of a claim: skips rows that another claim has locked.
    pub(crate) fn claiming_clause(&self) -> &'static str {
        if self.context.engine == DatabaseEngine::Postgres { " FOR UPDATE SKIP LOCKED" } else { "" }
    }

    /// Records this transaction in the audit log when it commits. Its events add subject, message and changes.
    pub fn record_audit(&mut self, record: AuditRecord, at: Timestamp) {
        self.pending_audit = Some(Box::new((record, at)));
    }

    /// Says what this transaction changes where no event of it does, or not all of it: kind and name of the object, and a sentence. Its
    /// events add their sentences to this one. Without an audit record nothing is added.
    pub fn describe_audit(&mut self, subject: String, message: impl Into<String>) {
        if let Some(pending) = &mut self.pending_audit {
            pending.0.subject = subject;
            pending.0.message = message.into();
        }
    }

    /// Refuses to commit this transaction before the response of its request is stored in it ([`crate::idempotency::put`]): a client that
    /// repeats the request would make its change again (P2).
    pub fn require_response(&mut self) {
        self.owes_response = true;
    }

    /// The response of the request is stored.
    pub(crate) fn settle_response(&mut self) {
        self.owes_response = false;
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

    /// Notes at the commit that incidents of a workload may change: a release of it was written in this state.
    pub(crate) fn note_state(&mut self, workload: WorkloadId, state: ReleaseState, at: Timestamp) {
        self.note_cause(workload, state.may_open_incident(), at);
    }

    /// Notes at the commit that incidents of a workload may change; `may_open` is whether there is a cause for one.
    pub(crate) fn note_cause(&mut self, workload: WorkloadId, may_open: bool, at: Timestamp) {
        let mark = self.incident_marks.entry(workload).or_insert(IncidentMark { may_open: false, at });
        mark.may_open |= may_open;
        mark.at = mark.at.max(at);
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

    /// Writes the marks that were collected so far. A transaction that settles a claim calls this before, so that it locks the rows of
    /// the queues in their order.
    ///
    /// # Errors
    /// The database returned an error.
    pub async fn write_marks(&mut self) -> Result<(), Error> {
        queue::flush_marks(self).await.map(drop)
    }

    /// Rolls back and waits until the locks are released. A dropped transaction releases its locks shortly after the
    /// drop.
    pub async fn rollback(self) -> Result<(), Error> {
        Ok(self.inner.rollback().await?)
    }

    /// Commits durably. After an error nothing was written, except after [`Error::CommitOutcomeUnknown`].
    pub async fn commit(mut self) -> Result<CommitOutcome, Error> {
        if self.owes_response {
            return Err(Error::ResponseNotStored);
        }
        // Before the counts: the loops settle their claims, which locks rows of the queues, before they commit.
        let has_placer_marks = queue::flush_marks_before(&mut self, Some(queue::INCIDENTS)).await?;
        // It inserts rows into the last queue: a placer that has settled its claim inserts the same ones after that.
        let has_incident_marks = incident::flush_marks(&mut self).await?;
        queue::flush_marks(&mut self).await?;
        release::flush_counts(&mut self).await?;
        cluster::flush_desired_state(&mut self).await?;
        audit::flush(&mut self).await?;
        let last_event = event::flush(&mut self).await?;
        if self.wakes_servers && self.context.engine == DatabaseEngine::Postgres {
            sql("NOTIFY flotilla").execute(&mut self).await?;
        }
        let commit = self.context.engine.wait_for_answer(self.inner.commit());
        let committed = commit.await.map_err(classify_commit_error);
        self.context.outages.observe(&committed, self.is_write);
        committed?;
        Ok(CommitOutcome { last_event, has_incident_marks, has_placer_marks })
    }
}
