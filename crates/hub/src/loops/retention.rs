//! Retention: deletes expired rows, each table by itself and in batches, so that neither a large table nor an error in one
//! of them keeps the others from being cleaned, and no transaction is long. After an update, values that earlier versions have stored are
//! redacted (`crate::redaction`).

use std::time::Duration;

use domain::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use store::retention::RetainedTable;
use tokio_util::sync::CancellationToken;

use super::{jitter, sleep_unless_cancelled};
use crate::{Error, Hub};

const RUN_EVERY: Duration = Duration::from_secs(3600);
const DAY_MILLIS: i64 = 86_400_000;

/// How long rows are retained after the time by which their table expires, in milliseconds.
const fn retention_millis(table: RetainedTable) -> i64 {
    match table {
        RetainedTable::Session
        | RetainedTable::SignInAttempt
        | RetainedTable::PasswordLink
        | RetainedTable::DriftSnooze
        | RetainedTable::IdentitySession
        | RetainedTable::IdentityReplay
        | RetainedTable::Plan => 0,
        // Its values can contain passwords.
        RetainedTable::HelmReleaseRequest => 60_000,
        RetainedTable::IdempotencyRecord => DAY_MILLIS,
        // Twice the interval in which a put renews the time: protects what is not referenced yet by a commit.
        RetainedTable::Artifact => 2 * DAY_MILLIS,
        RetainedTable::ChartRendering | RetainedTable::GitSnapshot => 7 * DAY_MILLIS,
        RetainedTable::ApiToken
        | RetainedTable::JoinToken
        | RetainedTable::Registration
        | RetainedTable::AgentCertificate => 30 * DAY_MILLIS,
        RetainedTable::Revision
        | RetainedTable::Operation
        | RetainedTable::Incident
        | RetainedTable::Event => 90 * DAY_MILLIS,
        // What a cluster still has to remove after that, it keeps.
        RetainedTable::ReleaseTombstone => 365 * DAY_MILLIS,
    }
}

/// How many rows one transaction deletes. A plan has up to two rows for every cluster, which are deleted with it.
const fn batch_rows(table: RetainedTable) -> u32 {
    match table {
        RetainedTable::Plan => 10,
        RetainedTable::Revision
        | RetainedTable::Artifact
        | RetainedTable::GitSnapshot
        | RetainedTable::Incident
        | RetainedTable::Operation => 100,
        _ => 1_000,
    }
}

/// What retention has done to one table since the start of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableStatistics {
    /// Name of the table.
    pub table: &'static str,
    /// Rows after the last pass; `None` while their number is not known.
    pub rows: Option<u64>,
    /// Rows deleted.
    pub deleted: u64,
    /// Passes that failed.
    pub failures: u64,
}

/// The statistics of all tables.
#[derive(Debug)]
pub(crate) struct RetentionStatistics(Mutex<Vec<TableStatistics>>);

impl Default for RetentionStatistics {
    fn default() -> Self {
        let empty = |table: RetainedTable| TableStatistics {
            table: table.as_str(),
            rows: None,
            deleted: 0,
            failures: 0,
        };
        Self(Mutex::new(RetainedTable::ALL.map(empty).to_vec()))
    }
}

impl RetentionStatistics {
    fn tables(&self) -> MutexGuard<'_, Vec<TableStatistics>> {
        self.0.lock()
    }

    fn update(&self, table: RetainedTable, change: impl FnOnce(&mut TableStatistics)) {
        if let Some(of) = self.tables().iter_mut().find(|of| of.table == table.as_str()) {
            change(of);
        }
    }
}

impl Hub {
    /// What retention has done to every table.
    pub fn retention_statistics(&self) -> Vec<TableStatistics> {
        self.retention().tables().clone()
    }

    /// Deletes the expired rows of all tables. An error in a table is logged and counted, and the others go on.
    pub async fn delete_expired_rows(&self, cancel: &CancellationToken) {
        let now = self.clock().now();
        for table in RetainedTable::ALL {
            if let Err(error) = self.clean_table(table, now, cancel).await {
                tracing::warn!(table = table.as_str(), %error, "expired rows were not deleted; the next pass tries again");
                self.retention().update(table, |of| of.failures += 1);
            }
        }
    }

    async fn clean_table(
        &self,
        table: RetainedTable,
        now: Timestamp,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let before = now.plus_millis(-retention_millis(table));
        let limit = batch_rows(table);
        while !cancel.is_cancelled() {
            let mut tx = self.write().await?;
            let deleted = store::retention::delete_batch(&mut tx, table, before, limit).await?;
            tx.commit().await?;
            self.retention().update(table, |of| of.deleted += deleted);
            if deleted < u64::from(limit) {
                break;
            }
        }
        let mut tx = self.read().await?;
        let rows = store::retention::count_rows(&mut tx, table).await?;
        self.retention().update(table, |of| of.rows = rows);
        Ok(())
    }
}

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    loop {
        hub.delete_expired_rows(&cancel).await;
        if let Err(error) = Box::pin(hub.redact_stored_values(&cancel)).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "stored values were not redacted; the next pass tries again");
        }
        if !sleep_unless_cancelled(jitter(RUN_EVERY), &cancel).await {
            return;
        }
    }
}
