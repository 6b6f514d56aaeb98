//! Attempts to sign in, counted per subject: an address, a name, a name from an address, or a name on a known device. Only
//! the hash of a subject is stored: what was typed as a name may be a password.

use std::collections::BTreeSet;

use domain::{Digest, Timestamp};

use crate::decode::decode_rows;
use crate::sql::sql;
use crate::{Error, Tx};

/// The count of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptCount {
    /// Hash of the subject.
    pub subject: Digest,
    /// Attempts that were not successful.
    pub failures: u32,
    /// When the next one is allowed.
    pub retry_at: Timestamp,
    /// When the row means nothing any more.
    pub expires_at: Timestamp,
}

/// The counts of these subjects, locked until the transaction ends; missing and expired ones are zero. Subjects are locked
/// in the order of their hashes, so that transactions do not deadlock.
pub async fn lock_counts(
    tx: &mut Tx,
    subjects: &BTreeSet<Digest>,
    now: Timestamp,
) -> Result<Vec<AttemptCount>, Error> {
    for subject in subjects {
        sql("INSERT INTO sign_in_attempt (subject_hash, failures, retry_at, expires_at) VALUES ($1, 0, 0, $2) \
             ON CONFLICT (subject_hash) DO NOTHING")
        .bind_text(subject)
        .bind(now.millis())
        .execute(tx)
        .await?;
    }
    let rows = sql(
        "SELECT subject_hash, failures, retry_at, expires_at FROM sign_in_attempt WHERE subject_hash IN ",
    )
    .push_list(subjects)
    .push(" ORDER BY subject_hash")
    .push_locking_clause(tx)
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "sign_in_attempt", |row| {
        let count = AttemptCount {
            subject: row.parse("subject_hash")?,
            failures: row.count("failures")?,
            retry_at: row.timestamp("retry_at")?,
            expires_at: row.timestamp("expires_at")?,
        };
        Ok(if count.expires_at > now { count } else { AttemptCount { failures: 0, retry_at: now, ..count } })
    })
}

/// Stores a count.
pub async fn save(tx: &mut Tx, count: &AttemptCount) -> Result<(), Error> {
    sql("UPDATE sign_in_attempt SET failures = $2, retry_at = $3, expires_at = $4 WHERE subject_hash = $1")
        .bind_text(&count.subject)
        .bind(i64::from(count.failures))
        .bind(count.retry_at.millis())
        .bind(count.expires_at.millis())
        .execute(tx)
        .await
        .map(drop)
}

/// Whether there is a row of this subject that has not expired.
pub async fn is_known(tx: &mut Tx, subject: &Digest, now: Timestamp) -> Result<bool, Error> {
    let row = sql("SELECT COUNT(*) FROM sign_in_attempt WHERE subject_hash = $1 AND expires_at > $2");
    Ok(row.bind_text(subject).bind(now.millis()).fetch_number(tx).await? > 0)
}
