//! Writes releases with their derived columns, counts and exposures.

use std::collections::BTreeMap;

use domain::release::{Release, ReleaseState};
use domain::{ReleaseId, WorkloadId};

use super::row::read_state;
use crate::decode::decode_rows;
use crate::sql::sql;
use crate::{Error, Tx, exposure, table};

/// Releases per statement; with a parameter per column, below the parameter limit of both engines.
const RELEASES_PER_STATEMENT: usize = 32;

/// Adds a release. [`Error::AlreadyExists`] if the workload has one on that cluster.
pub async fn insert(tx: &mut Tx, release: &Release) -> Result<(), Error> {
    insert_many(tx, std::slice::from_ref(release)).await
}

/// Adds releases.
pub async fn insert_many(tx: &mut Tx, releases: &[Release]) -> Result<(), Error> {
    for some in releases.chunks(RELEASES_PER_STATEMENT) {
        table::insert(tx, some)?.execute(tx).await?;
    }
    for release in releases {
        tx.add_count(release.workload(), release.state(), 1);
        if release.state().may_open_incident() {
            tx.note_state(release.workload(), release.state(), release.state_since());
        }
    }
    Ok(())
}

/// Writes a release; false if it no longer exists.
pub async fn update(tx: &mut Tx, release: &Release) -> Result<bool, Error> {
    Ok(update_many(tx, std::slice::from_ref(release)).await? == 1)
}

/// Writes releases; those that no longer exist are left out. Deletes the exposures of releases that are gone. Returns
/// how many were written.
pub async fn update_many(tx: &mut Tx, releases: &[Release]) -> Result<u64, Error> {
    let mut written = 0;
    for some in releases.chunks(RELEASES_PER_STATEMENT) {
        let before = lock_states(tx, some).await?;
        let existing: Vec<Release> =
            some.iter().filter(|release| before.contains_key(&release.id())).cloned().collect();
        if existing.is_empty() {
            continue;
        }
        written += table::insert_or_update(tx, &existing)?.execute(tx).await?;
        for release in &existing {
            let (workload, previous) = before[&release.id()];
            tx.add_count(workload, previous, -1);
            tx.add_count(workload, release.state(), 1);
            if previous != release.state() || release.state().is_failing() {
                let at = release.reported_at().max(Some(release.state_since()));
                tx.note_state(workload, release.state(), at.unwrap_or(release.state_since()));
            }
        }
        for release in existing.iter().filter(|release| release.last_known_state().is_gone()) {
            exposure::delete(tx, release.workload(), release.cluster()).await?;
        }
    }
    Ok(written)
}

/// The stored states; the rows are locked until the transaction ends.
async fn lock_states(
    tx: &mut Tx,
    releases: &[Release],
) -> Result<BTreeMap<ReleaseId, (WorkloadId, ReleaseState)>, Error> {
    let rows = sql("SELECT id, workload_id, state FROM release WHERE id IN ")
        .push_list(releases.iter().map(|release| release.id()))
        .push(" ORDER BY id")
        .push_locking_clause(tx)
        .fetch_all(tx)
        .await?;
    let read = decode_rows(&rows, "release", |row| {
        Ok((row.parse("id")?, (row.parse("workload_id")?, read_state(row, "state")?)))
    })?;
    Ok(read.into_iter().collect())
}
