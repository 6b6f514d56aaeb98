//! Work queues of loops, with one row per workload. A mark is a row, so work resumes after a restart (P1).
//!
//! `due_at` is also the end of a claim's lease: a claimed row that is not settled by then is due again. `dirty_epoch`
//! counts marks: a workload that is marked while it is claimed stays due. `claim_epoch` counts claims and fences them
//! (P9): a lost claim cannot be settled, so its result cannot be committed.
//!
//! What a user requests for one workload comes before what a change of the fleet requires for all of them: its mark has a time before
//! 1970 ([`WorkloadQueue::mark_requested`]), so the order by `due_at` is also that of the priorities.
//!
//! Marks are collected in [`Tx`] and written at its commit: queue by queue in the order of [`WorkloadQueue`], and by workload in a queue.
//! A transaction that settles or extends a claim locks the row of the claim before the commit, so it must have no mark of an earlier
//! queue then: [`Tx::write_marks`].

use std::collections::{BTreeMap, BTreeSet};

use domain::{ClusterId, Timestamp, WorkloadId};

use crate::decode::{decode_readable_rows, decode_row};
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// Workloads per statement.
const WORKLOADS_PER_STATEMENT: usize = 500;

/// Milliseconds between the time of a mark and the stored time of one that a user requested. No clock shows a time before 1970, so that
/// the sign of a stored time is its priority.
const REQUESTED_OFFSET: i64 = 1 << 52;

/// Which due workloads are claimed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimOrder {
    /// Those that users requested, each by how long it is due; then the others.
    RequestedFirst,
    /// Those that are due longest, whoever marked them: with a turn of these now and then, no workload waits for ever.
    LongestDueFirst,
}

impl ClaimOrder {
    /// The columns to order by.
    fn columns(self) -> String {
        match self {
            Self::RequestedFirst => "due_at, workload_id".to_owned(),
            Self::LongestDueFirst => {
                format!("CASE WHEN due_at < 0 THEN due_at + {REQUESTED_OFFSET} ELSE due_at END, workload_id")
            }
        }
    }
}

/// The stored time of a mark that a user requested.
fn with_priority(at: Timestamp) -> Timestamp {
    at.plus_millis(-REQUESTED_OFFSET)
}

/// The time that is stored, whatever its priority.
fn without_priority(stored: Timestamp) -> Timestamp {
    match stored.millis() {
        ..0 => stored.plus_millis(REQUESTED_OFFSET),
        _ => stored,
    }
}

/// One queue: a table with one row per workload. Transactions lock rows of several queues in the order of `rank`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadQueue {
    rank: u8,
    table: &'static str,
    /// Query for the workloads that [`WorkloadQueue::mark_all`] marks.
    all_workloads: &'static str,
}

/// The marks of one queue that a transaction writes at its commit.
#[derive(Debug, Default)]
pub(crate) struct PendingMarks {
    /// From when on each workload is due.
    workloads: BTreeMap<WorkloadId, Timestamp>,
    /// From when on every workload is due that the loop handles.
    all: Option<Timestamp>,
    /// Workloads that are due only if they are claimed or a removal of them waits.
    waiting: BTreeMap<WorkloadId, Timestamp>,
    /// Workloads that are due only if they are claimed or have a release on the cluster.
    on_clusters: BTreeMap<ClusterId, BTreeMap<WorkloadId, Timestamp>>,
}

impl PendingMarks {
    /// The earliest time for which a workload was marked counts.
    fn add(&mut self, id: WorkloadId, at: Timestamp) {
        let due = self.workloads.entry(id).or_insert(at);
        *due = at.min(*due);
    }
}

/// Workloads that the placer has to place.
pub const PLACER: WorkloadQueue = WorkloadQueue {
    rank: 0,
    table: "placer_queue",
    all_workloads: "SELECT id AS workload_id FROM workload WHERE intent = 'published'",
};

/// Workloads whose rollouts may advance.
pub const ROLLOUTS: WorkloadQueue = WorkloadQueue {
    rank: 1,
    table: "rollout_queue",
    all_workloads: "SELECT workload_id FROM rollout WHERE active = 1",
};

/// Workloads whose incidents may change.
pub const INCIDENTS: WorkloadQueue = WorkloadQueue {
    rank: 2,
    table: "incident_queue",
    all_workloads: "SELECT workload_id FROM incident_queue WHERE tracked = 1 \
                    UNION SELECT workload_id FROM rollout WHERE active = 1 \
                    UNION SELECT workload_id FROM release_count \
                    WHERE total > 0 AND state IN ('Drifted', 'Blocked', 'Degraded', 'Failed')",
};

/// The time of the first mark that no claim has seen yet; `$1` is that of the new mark. An earlier one, and with it its priority, stays.
const EARLIEST_MARK: &str = "CASE WHEN marked_at < $1 AND (CASE WHEN claimed = 1 THEN dirty_epoch > claimed_dirty_epoch \
                             ELSE due_at IS NOT NULL END) THEN marked_at ELSE $1 END";

impl WorkloadQueue {
    /// Inserts the row of a workload, not due, if there is none.
    pub(crate) async fn insert_row(self, tx: &mut Tx, id: WorkloadId, at: Timestamp) -> Result<(), Error> {
        sql("INSERT INTO ")
            .push(self.table)
            .push(
                " (workload_id, dirty_epoch, marked_at, due_at, claimed, claim_epoch, claimed_dirty_epoch, attempts) \
                 VALUES ($1, 0, $2, NULL, 0, 0, 0, 0) ON CONFLICT (workload_id) DO NOTHING",
            )
            .bind_text(id)
            .bind(at.millis())
            .execute(tx)
            .await
            .map(drop)
    }

    /// Marks these workloads as due from `at` on, at the commit.
    pub async fn mark(self, tx: &mut Tx, ids: &[WorkloadId], at: Timestamp) -> Result<(), Error> {
        self.add_marks(tx, ids, at);
        Ok(())
    }

    /// Marks a workload as due now, at the commit, because a user requested that for this workload: it comes before those that
    /// are due for another reason.
    pub async fn mark_requested(self, tx: &mut Tx, id: WorkloadId, now: Timestamp) -> Result<(), Error> {
        self.add_marks(tx, &[id], with_priority(now));
        Ok(())
    }

    fn add_marks(self, tx: &mut Tx, ids: &[WorkloadId], at: Timestamp) {
        if !ids.is_empty() {
            let marks = tx.queue_marks.entry(self).or_default();
            ids.iter().for_each(|id| marks.add(*id, at));
        }
    }

    /// Marks every workload that the loop handles, at the commit: for the placer every published one, because clusters,
    /// labels or taints have changed.
    pub async fn mark_all(self, tx: &mut Tx, at: Timestamp) -> Result<(), Error> {
        let all = &mut tx.queue_marks.entry(self).or_default().all;
        *all = Some(all.map_or(at, |before| before.min(at)));
        Ok(())
    }

    /// Marks a workload at the commit if its claim is worked on then, because the pass may have read what this transaction
    /// changes before it changed, or if a removal of it waits. Otherwise the next pass reads the change, whenever it is.
    pub async fn mark_waiting(self, tx: &mut Tx, id: WorkloadId, at: Timestamp) -> Result<(), Error> {
        tx.queue_marks.entry(self).or_default().waiting.insert(id, at);
        Ok(())
    }

    /// Marks those of these workloads at the commit that have a release on this cluster, or whose claim is worked on then: the pass may create one.
    pub async fn mark_on(
        self,
        tx: &mut Tx,
        ids: &[WorkloadId],
        cluster: ClusterId,
        at: Timestamp,
    ) -> Result<(), Error> {
        let marks = tx.queue_marks.entry(self).or_default().on_clusters.entry(cluster).or_default();
        for id in ids {
            let due = marks.entry(*id).or_insert(at);
            *due = at.min(*due);
        }
        Ok(())
    }

    /// Writes the marks of this queue; returns whether there was one. All rows are locked in the order of their workloads before
    /// the first is written: an update locks rows in the order in which it finds them.
    async fn write_marks(self, tx: &mut Tx, mut marks: PendingMarks) -> Result<bool, Error> {
        if let Some(at) = marks.all {
            let rows = sql(self.all_workloads).fetch_all(tx).await?;
            let ids: Vec<WorkloadId> =
                decode_readable_rows(&rows, self.table, |row| row.parse("workload_id"));
            ids.into_iter().for_each(|id| marks.add(id, at));
        }
        let on_clusters = marks.on_clusters.values().flat_map(BTreeMap::keys);
        let ids = marks.workloads.keys().chain(marks.waiting.keys()).chain(on_clusters);
        let ids: BTreeSet<WorkloadId> = ids.copied().collect();
        let ids: Vec<WorkloadId> = ids.into_iter().collect();
        let mut claimed: BTreeSet<WorkloadId> = BTreeSet::new();
        for some in ids.chunks(WORKLOADS_PER_STATEMENT) {
            let select =
                sql("SELECT workload_id, claimed FROM ").push(self.table).push(" WHERE workload_id IN ");
            let select = select.push_list(some).push(" ORDER BY workload_id").push_locking_clause(tx);
            let rows = select.fetch_all(tx).await?;
            let rows = decode_readable_rows(&rows, self.table, |row| {
                Ok((row.parse::<WorkloadId>("workload_id")?, row.flag("claimed")?))
            });
            claimed.extend(rows.into_iter().filter(|(_, is_claimed)| *is_claimed).map(|(id, _)| id));
        }
        // Read after the lock: a pass that ends meanwhile writes the removals before it settles its claim.
        let unclaimed: Vec<WorkloadId> =
            marks.waiting.keys().copied().filter(|id| !claimed.contains(id)).collect();
        let waiting_removals =
            "SELECT DISTINCT workload_id FROM pending_removal WHERE waiting_for IS NOT NULL";
        let has_waiting_removal = list_selected(tx, || sql(waiting_removals), &unclaimed).await?;
        for (id, at) in std::mem::take(&mut marks.waiting) {
            if claimed.contains(&id) || has_waiting_removal.contains(&id) {
                marks.add(id, at);
            }
        }
        for (cluster, dependents) in std::mem::take(&mut marks.on_clusters) {
            let ids: Vec<WorkloadId> = dependents.keys().copied().collect();
            let on_cluster =
                || sql("SELECT workload_id FROM release WHERE cluster_id = $1").bind_text(cluster);
            let present = list_selected(tx, on_cluster, &ids).await?;
            let is_due = |id: &WorkloadId| claimed.contains(id) || present.contains(id);
            dependents.iter().filter(|(id, _)| is_due(id)).for_each(|(id, at)| marks.add(*id, *at));
        }
        let mut by_time: BTreeMap<Timestamp, Vec<WorkloadId>> = BTreeMap::new();
        for (id, at) in marks.workloads {
            by_time.entry(at).or_default().push(id);
        }
        for (at, ids) in &by_time {
            for some in ids.chunks(WORKLOADS_PER_STATEMENT) {
                self.update_marks(*at).push_list(some).execute(tx).await?;
            }
        }
        Ok(!by_time.is_empty())
    }

    /// A claimed row stays claimed; an unclaimed one is due at the earliest time for which it was marked.
    fn update_marks(self, at: Timestamp) -> Sql {
        sql("UPDATE ")
            .push(self.table)
            .push(" SET dirty_epoch = dirty_epoch + 1, marked_at = ")
            .push(EARLIEST_MARK)
            .push(
                ", due_at = CASE WHEN due_at IS NULL OR (claimed = 0 AND due_at > $1) THEN $1 ELSE due_at END \
                 WHERE workload_id IN ",
            )
            .bind(at.millis())
    }

    /// Whether anything is due.
    pub async fn has_due(self, tx: &mut Tx, now: Timestamp) -> Result<bool, Error> {
        let due = sql("SELECT COUNT(*) FROM (SELECT 1 FROM ")
            .push(self.table)
            .push(" WHERE due_at IS NOT NULL AND due_at <= $1 LIMIT 1) AS due");
        Ok(due.bind(now.millis()).fetch_number(tx).await? > 0)
    }

    /// How many workloads are due, and since when the oldest of them.
    pub async fn count_due(self, tx: &mut Tx, now: Timestamp) -> Result<(u32, Option<Timestamp>), Error> {
        let row = sql("SELECT COUNT(*) AS due, MIN(CASE WHEN due_at < 0 THEN due_at + $2 ELSE due_at END) AS oldest FROM ")
            .push(self.table)
            .push(" WHERE due_at IS NOT NULL AND due_at <= $1")
            .bind(now.millis())
            .bind(REQUESTED_OFFSET)
            .fetch_optional(tx)
            .await?;
        let read = decode_row(row, self.table, |row| Ok((row.count("due")?, row.opt_timestamp("oldest")?)))?;
        Ok(read.unwrap_or_default())
    }

    /// Claims up to `limit` due workloads until `lease_until`, those that users requested first, then by how long they are due.
    /// Concurrent claims never return the same one. The number is the claim's epoch, for [`WorkloadQueue::settle`]. Commit before
    /// working on them.
    pub async fn claim(
        self,
        tx: &mut Tx,
        limit: u32,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Vec<(WorkloadId, i64)>, Error> {
        self.claim_in_order(tx, ClaimOrder::RequestedFirst, limit, (now, lease_until)).await
    }

    /// Like [`WorkloadQueue::claim`], in this order, from a time until the end of the lease.
    pub async fn claim_in_order(
        self,
        tx: &mut Tx,
        order: ClaimOrder,
        limit: u32,
        (now, lease_until): (Timestamp, Timestamp),
    ) -> Result<Vec<(WorkloadId, i64)>, Error> {
        // MATERIALIZED: PostgreSQL must not evaluate the limited part more than once.
        let rows = sql("WITH due AS MATERIALIZED (SELECT workload_id FROM ")
            .push(self.table)
            .push(" WHERE due_at IS NOT NULL AND due_at <= $1 ORDER BY ")
            .push(&order.columns())
            .push(" LIMIT $2")
            .bind(now.millis())
            .bind(i64::from(limit))
            .push(tx.claiming_clause())
            .push(") UPDATE ")
            .push(self.table)
            .push(
                " SET due_at = $3, claimed = 1, claim_epoch = claim_epoch + 1, \
                 claimed_dirty_epoch = dirty_epoch WHERE workload_id IN (SELECT workload_id FROM due) \
                 RETURNING workload_id, claim_epoch, marked_at",
            )
            .bind(lease_until.millis())
            .fetch_all(tx)
            .await?;
        // An unreadable row stays claimed and is due again after the lease; it must not stop the loop for the others.
        let mut claimed = decode_readable_rows(&rows, self.table, |row| {
            Ok((row.int("marked_at")?, row.parse("workload_id")?, row.int("claim_epoch")?))
        });
        claimed.sort_unstable();
        Ok(claimed.into_iter().map(|(_, id, epoch)| (id, epoch)).collect())
    }

    /// Ends every claim, at the start of a server whose database serves one server at a time: the claims are from a
    /// process that has ended. The claimed rows are due immediately. Returns how many.
    pub async fn release_all_claims(self, tx: &mut Tx, now: Timestamp) -> Result<u64, Error> {
        sql("UPDATE ")
            .push(self.table)
            .push(
                " SET claimed = 0, due_at = CASE WHEN marked_at < $1 THEN marked_at ELSE $1 END, \
                 claim_epoch = claim_epoch + 1 WHERE claimed = 1",
            )
            .bind(now.millis())
            .execute(tx)
            .await
    }

    /// Extends a claim until `lease_until`; call it at the end of a transaction that writes a part of the result.
    /// [`Error::ClaimLost`] if the claim is lost: the part must not be committed.
    pub async fn extend(
        self,
        tx: &mut Tx,
        (id, epoch): (WorkloadId, i64),
        lease_until: Timestamp,
    ) -> Result<(), Error> {
        let update = sql("UPDATE ").push(self.table).push(" SET due_at = $1").bind(lease_until.millis());
        let update = update.push(" WHERE workload_id = $2 AND claim_epoch = $3 AND claimed = 1");
        match update.bind_text(id).bind(epoch).execute(tx).await? {
            0 => Err(Error::ClaimLost { what: format!("workload {id}") }),
            _ => Ok(()),
        }
    }

    /// Ends claims without a result: the workloads are due as they were when they were marked, and now at the latest, because a mark
    /// during the claim that is due later delays nothing. A claim that is lost already is left as it is. The rows are locked in the order of
    /// their workloads, and not in that of the claims, which is by time: a mark of several workloads locks them so.
    pub async fn release_claims(
        self,
        tx: &mut Tx,
        claims: &[(WorkloadId, i64)],
        now: Timestamp,
    ) -> Result<(), Error> {
        let claims: BTreeMap<WorkloadId, i64> = claims.iter().copied().collect();
        for (id, epoch) in &claims {
            sql("UPDATE ")
                .push(self.table)
                .push(
                    " SET claimed = 0, due_at = CASE WHEN marked_at < $3 THEN marked_at ELSE $3 END \
                     WHERE workload_id = $1 AND claim_epoch = $2 AND claimed = 1",
                )
                .bind_text(id)
                .bind(*epoch)
                .bind(now.millis())
                .execute(tx)
                .await?;
        }
        Ok(())
    }

    /// Settles a claim; call it in the transaction that writes the result. True if the workload is clean, false if it
    /// was marked again meanwhile and stays due. [`Error::ClaimLost`] if the claim is lost: the result must not be
    /// committed.
    pub async fn settle(self, tx: &mut Tx, id: WorkloadId, epoch: i64) -> Result<bool, Error> {
        let row = sql("UPDATE ")
            .push(self.table)
            .push(
                " SET claimed = 0, attempts = 0, failure = NULL, \
                 due_at = CASE WHEN dirty_epoch = claimed_dirty_epoch THEN NULL ELSE marked_at END \
                 WHERE workload_id = $1 AND claim_epoch = $2 AND claimed = 1 \
                 RETURNING workload_id, due_at",
            )
            .bind_text(id)
            .bind(epoch)
            .fetch_optional(tx)
            .await?;
        let due = decode_row(row, self.table, |row| row.opt_timestamp("due_at"))?;
        due.map(|due| due.is_none()).ok_or_else(|| Error::ClaimLost { what: format!("workload {id}") })
    }

    /// Ends a claim whose work failed: the workload is due again after a pause that doubles with every failure in a row. The
    /// message is shown until the next success, and may open an incident. Returns whether it differs from the last one;
    /// [`Error::ClaimLost`] if the claim is lost.
    pub async fn fail(
        self,
        tx: &mut Tx,
        (id, epoch): (WorkloadId, i64),
        message: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let select = sql("SELECT workload_id, attempts, failure FROM ").push(self.table);
        let row = select.push(" WHERE workload_id = $1 AND claim_epoch = $2 AND claimed = 1");
        let row = row.bind_text(id).bind(epoch).push_locking_clause(tx).fetch_optional(tx).await?;
        let found = decode_row(row, self.table, |row| {
            Ok((row.count("attempts")?, row.get::<Option<String>>("failure")?))
        })?;
        let (attempts, before) = found.ok_or_else(|| Error::ClaimLost { what: format!("workload {id}") })?;
        if self != INCIDENTS {
            tx.note_cause(id, true, now);
        }
        sql("UPDATE ")
            .push(self.table)
            .push(" SET claimed = 0, attempts = $1, failure = $2, due_at = $3 WHERE workload_id = $4")
            .bind(i64::from(attempts) + 1)
            .bind_text(message)
            .bind(now.plus_millis(retry_pause_millis(attempts)).millis())
            .bind_text(id)
            .execute(tx)
            .await?;
        Ok(before.as_deref() != Some(message))
    }

    /// Why the last work on a workload failed, if it did.
    pub async fn get_failure(self, tx: &mut Tx, id: WorkloadId) -> Result<Option<QueueFailure>, Error> {
        let select = sql("SELECT workload_id, attempts, failure, due_at FROM ").push(self.table);
        let row = select.push(" WHERE workload_id = $1 AND failure IS NOT NULL").bind_text(id);
        decode_row(row.fetch_optional(tx).await?, self.table, |row| {
            Ok(QueueFailure {
                message: row.text("failure")?,
                attempts: row.count("attempts")?,
                retry_at: row.opt_timestamp("due_at")?.map(without_priority),
            })
        })
    }
}

/// Writes the pending marks of all queues; returns whether the placer has one.
pub(crate) async fn flush_marks(tx: &mut Tx) -> Result<bool, Error> {
    flush_marks_before(tx, None).await
}

/// Writes the pending marks of the queues before this one, or of all of them; returns whether the placer has one.
pub(crate) async fn flush_marks_before(tx: &mut Tx, end: Option<WorkloadQueue>) -> Result<bool, Error> {
    let mut marks = std::mem::take(&mut tx.queue_marks);
    if let Some(end) = end {
        tx.queue_marks = marks.split_off(&end);
    }
    let mut has_placer_marks = false;
    for (queue, marks) in marks {
        let is_marked = queue.write_marks(tx, marks).await?;
        has_placer_marks |= is_marked && queue == PLACER;
    }
    Ok(has_placer_marks)
}

/// Those of these workloads that a statement selects.
async fn list_selected(
    tx: &mut Tx,
    select: impl Fn() -> Sql,
    ids: &[WorkloadId],
) -> Result<BTreeSet<WorkloadId>, Error> {
    let mut found = BTreeSet::new();
    for ids in ids.chunks(WORKLOADS_PER_STATEMENT) {
        let rows = select().push(" AND workload_id IN ").push_list(ids).fetch_all(tx).await?;
        found.extend(decode_readable_rows(&rows, "workload", |row| row.parse::<WorkloadId>("workload_id")));
    }
    Ok(found)
}

/// A failure of a loop with one workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueFailure {
    /// Why.
    pub message: String,
    /// Failures in a row.
    pub attempts: u32,
    /// When it is retried.
    pub retry_at: Option<Timestamp>,
}

/// Pause after the first failure, in milliseconds.
const MIN_RETRY_MILLIS: i64 = 5_000;
/// Longest pause, in milliseconds.
const MAX_RETRY_MILLIS: i64 = 300_000;

/// The pause after this many earlier failures in a row.
fn retry_pause_millis(earlier: u32) -> i64 {
    (MIN_RETRY_MILLIS << earlier.min(10)).min(MAX_RETRY_MILLIS)
}
