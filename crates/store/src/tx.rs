//! Transactions, and what is written at their end.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::NewEvent;
use domain::release::State;
use domain::rollup::Counts;
use domain::{ClusterId, Timestamp, WorkloadId};
use sqlx::{Any, AnyConnection, Transaction};

use crate::sql::sql;
use crate::{Error, cluster, event, release};

/// Which engine is behind a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// A transaction. Dropped without [`Tx::commit`], it changes nothing.
///
/// What every writer writes is collected here and written at the commit, in one order for all (counts, versions of
/// wants, events), so that writers wait for each other there for a moment at most and never in a circle.
pub struct Tx {
    inner: Transaction<'static, Any>,
    engine: Engine,
    writes: bool,
    pub(crate) counts: BTreeMap<(WorkloadId, State), i64>,
    pub(crate) wants: BTreeSet<ClusterId>,
    pub(crate) events: Vec<(NewEvent, Timestamp)>,
    wakes: bool,
}

/// What a commit gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Position of the last event that the transaction appended, if any.
    pub last_event: Option<i64>,
}

impl Tx {
    pub(crate) fn new(inner: Transaction<'static, Any>, engine: Engine, writes: bool) -> Self {
        Self {
            inner,
            engine,
            writes,
            counts: BTreeMap::new(),
            wants: BTreeSet::new(),
            events: Vec::new(),
            wakes: false,
        }
    }

    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        &mut self.inner
    }

    /// SQLite has one writer at a time; PostgreSQL locks the rows that are read to be changed. Not `FOR UPDATE`: rows
    /// that merely reference them may still be written.
    pub(crate) fn locking_clause(&self) -> &'static str {
        if self.writes && self.engine == Engine::Postgres { " FOR NO KEY UPDATE" } else { "" }
    }

    /// The clause of a claim: rows that another claimer holds are passed over.
    pub(crate) fn claiming_clause(&self) -> &'static str {
        if self.engine == Engine::Postgres { " FOR UPDATE SKIP LOCKED" } else { "" }
    }

    /// Other servers are woken when this commits. Asked for once or many times, they are woken once.
    pub fn notify(&mut self) {
        self.wakes = true;
    }

    /// Adds to the counts of a workload at the commit.
    pub(crate) fn count(&mut self, workload: WorkloadId, state: State, n: i64) {
        let delta = self.counts.entry((workload, state)).or_default();
        *delta += n;
        if *delta == 0 {
            self.counts.remove(&(workload, state));
        }
    }

    /// `counts` with what this transaction will add to them.
    pub(crate) fn with_pending(&self, workload: WorkloadId, counts: &mut Counts) {
        let range = (workload, State::ALL[0])..=(workload, State::ALL[State::ALL.len() - 1]);
        for ((_, state), delta) in self.counts.range(range) {
            let n = i64::from(counts.of(*state)).saturating_add(*delta);
            counts.0.remove(state);
            counts.add(*state, u32::try_from(n).unwrap_or(0));
        }
    }

    /// Changes nothing, and waits until the locks are given back; a transaction that is merely dropped gives them back a
    /// moment later.
    pub async fn rollback(self) -> Result<(), Error> {
        Ok(self.inner.rollback().await?)
    }

    /// Makes it durable. After an error nothing is known to be written; a `Busy` one may be tried again from its start.
    pub async fn commit(mut self) -> Result<Committed, Error> {
        release::flush_counts(&mut self).await?;
        cluster::flush_wants(&mut self).await?;
        let last_event = event::flush(&mut self).await?;
        if self.wakes && self.engine == Engine::Postgres {
            sql("NOTIFY flotilla").run(&mut self).await?;
        }
        self.inner.commit().await?;
        Ok(Committed { last_event })
    }
}
