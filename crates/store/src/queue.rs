//! Queues of workloads that a loop has to look at. A mark is a row, so a restart resumes where it stopped (P1).
//!
//! `due_at` doubles as the end of a lease: a claimed row is due again when its claimer has not settled it in time. Two
//! counters keep it honest. `dirty_epoch` counts marks: what is marked while somebody works on it stays due.
//! `claim_epoch` counts claims and fences them (P9): whoever lost the lease can't settle, and so can't commit.

use domain::{Timestamp, WorkloadId};

use crate::record::{all, one};
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// One queue: a table with one row per workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    table: &'static str,
    /// The workloads that everything is marked for at once.
    everything: &'static str,
}

/// What the placer has to place.
pub const PLACER: Queue =
    Queue { table: "workload_work", everything: "(SELECT id FROM workload WHERE intent = 'published')" };

/// The workloads whose rollouts may go on.
pub const ROLLOUTS: Queue =
    Queue { table: "rollout_work", everything: "(SELECT workload_id FROM rollout WHERE active = 1)" };

impl Queue {
    /// The row of a workload, with nothing to do yet; one that is there stays as it is.
    pub(crate) async fn begin(self, tx: &mut Tx, id: WorkloadId, at: Timestamp) -> Result<(), Error> {
        sql("INSERT INTO ")
            .push(self.table)
            .push(
                " (workload_id, dirty_epoch, marked_at, due_at, leased, claim_epoch, claimed_dirty) \
                 VALUES ($1, 0, $2, NULL, 0, 0, 0) ON CONFLICT (workload_id) DO NOTHING",
            )
            .text(id)
            .bind(at.millis())
            .run(tx)
            .await
            .map(drop)
    }

    /// The loop has to look at these workloads, from `at` on.
    pub async fn mark(self, tx: &mut Tx, ids: &[WorkloadId], at: Timestamp) -> Result<(), Error> {
        for ids in ids.chunks(500) {
            self.keep_rows().list(ids).push(" ORDER BY workload_id").locking(tx).rows(tx).await?;
            self.marking(at).list(ids).run(tx).await?;
        }
        Ok(())
    }

    /// The loop has to look at everything: the placer at every published workload, because clusters, labels or taints have
    /// changed. Returns how many.
    pub async fn mark_everything(self, tx: &mut Tx, at: Timestamp) -> Result<u64, Error> {
        let rows = self.keep_rows().push(self.everything).push(" ORDER BY workload_id");
        rows.locking(tx).rows(tx).await?;
        self.marking(at).push(self.everything).run(tx).await
    }

    fn keep_rows(self) -> Sql {
        sql("SELECT workload_id FROM ").push(self.table).push(" WHERE workload_id IN ")
    }

    /// A claimed row stays its claimer's; an unclaimed one is due at the earliest time it was marked for.
    fn marking(self, at: Timestamp) -> Sql {
        sql("UPDATE ")
            .push(self.table)
            .push(
                " SET dirty_epoch = dirty_epoch + 1, marked_at = $1, \
                 due_at = CASE WHEN due_at IS NULL OR (leased = 0 AND due_at > $1) THEN $1 ELSE due_at END \
                 WHERE workload_id IN ",
            )
            .bind(at.millis())
    }

    /// Whether anything is due.
    pub async fn is_due(self, tx: &mut Tx, now: Timestamp) -> Result<bool, Error> {
        let due = sql("SELECT COUNT(*) FROM (SELECT 1 FROM ")
            .push(self.table)
            .push(" WHERE due_at IS NOT NULL AND due_at <= $1 LIMIT 1) AS due");
        Ok(due.bind(now.millis()).number(tx).await? > 0)
    }

    /// Takes up to `limit` due workloads until `lease_until`, longest due first. Two claimers never get the same one. The
    /// number beside each is the claim's epoch, for [`Queue::settle`]. Commit before working on them.
    pub async fn claim(
        self,
        tx: &mut Tx,
        limit: u32,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Vec<(WorkloadId, i64)>, Error> {
        // MATERIALIZED: PostgreSQL must not evaluate the limited part more than once.
        let rows = sql("WITH due AS MATERIALIZED (SELECT workload_id FROM ")
            .push(self.table)
            .push(" WHERE due_at IS NOT NULL AND due_at <= $1 ORDER BY due_at, workload_id LIMIT $2")
            .bind(now.millis())
            .bind(i64::from(limit))
            .push(tx.claiming_clause())
            .push(") UPDATE ")
            .push(self.table)
            .push(
                " SET due_at = $3, leased = 1, claim_epoch = claim_epoch + 1, \
                 claimed_dirty = dirty_epoch WHERE workload_id IN (SELECT workload_id FROM due) \
                 RETURNING workload_id, claim_epoch, marked_at",
            )
            .bind(lease_until.millis())
            .rows(tx)
            .await?;
        let mut claimed = all(&rows, self.table, |row| {
            Ok((row.int("marked_at")?, row.parse("workload_id")?, row.int("claim_epoch")?))
        });
        claimed.sort_unstable();
        Ok(claimed.into_iter().map(|(_, id, epoch)| (id, epoch)).collect())
    }

    /// Ends every claim: the server that made them is gone, and the database serves one server at a time. What was claimed
    /// is due at once. Returns how many.
    pub async fn end_claims(self, tx: &mut Tx) -> Result<u64, Error> {
        sql("UPDATE ")
            .push(self.table)
            .push(
                " SET leased = 0, due_at = CASE WHEN marked_at < due_at THEN marked_at ELSE due_at END, \
                 claim_epoch = claim_epoch + 1 WHERE leased = 1",
            )
            .run(tx)
            .await
    }

    /// The work on a claim is done; call it in the transaction that writes the result. True if the workload is clean,
    /// false if it was marked again meanwhile and stays due. [`Error::LeaseLost`] if somebody else has claimed it since: the
    /// result is not to be committed.
    pub async fn settle(self, tx: &mut Tx, id: WorkloadId, epoch: i64) -> Result<bool, Error> {
        let row = sql("UPDATE ")
            .push(self.table)
            .push(
                " SET leased = 0, due_at = CASE WHEN dirty_epoch = claimed_dirty THEN NULL ELSE marked_at END \
                 WHERE workload_id = $1 AND claim_epoch = $2 AND leased = 1 \
                 RETURNING workload_id, due_at",
            )
            .text(id)
            .bind(epoch)
            .row(tx)
            .await?;
        let due = one(row, self.table, |row| row.opt_at("due_at"))?;
        due.map(|due| due.is_none()).ok_or_else(|| Error::LeaseLost { what: format!("workload {id}") })
    }
}
