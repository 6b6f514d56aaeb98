//! Writes releases with their derived columns, counts and exposures.

use std::collections::BTreeMap;

use domain::release::{Release, ReleaseState};
use domain::{ReleaseId, WorkloadId};

use super::row::{read_state, state_rank};
use crate::decode::decode_rows;
use crate::sql::{Sql, sql, to_json};
use crate::{Error, Tx, exposure};

/// Releases per statement; with 30 parameters each, below the parameter limit of both engines.
const RELEASES_PER_STATEMENT: usize = 32;

const INSERT: &str = "INSERT INTO release (id, workload_id, cluster_id, workload_name, cluster_name, revision, wave, \
     gate, generation, sync_nonce, desired, released, released_revision, applied, admitted_offline, sync, health, connectivity, state, state_rank, last_known_state, last_known_rank, \
     state_since, reported_at, in_desired_state, message, goal, policies, health_detail, stages) VALUES ";

/// On update: everything but ids and names, which never change.
const ON_CONFLICT_UPDATE: &str = " ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, \
     wave = excluded.wave, gate = excluded.gate, released_revision = excluded.released_revision, \
     generation = excluded.generation, sync_nonce = excluded.sync_nonce, desired = excluded.desired, \
     released = excluded.released, applied = excluded.applied, admitted_offline = excluded.admitted_offline, sync = excluded.sync, health = excluded.health, \
     connectivity = excluded.connectivity, state = excluded.state, state_rank = excluded.state_rank, \
     last_known_state = excluded.last_known_state, last_known_rank = excluded.last_known_rank, state_since = excluded.state_since, reported_at = excluded.reported_at, \
     in_desired_state = excluded.in_desired_state, message = excluded.message, goal = excluded.goal, policies = excluded.policies, \
     health_detail = excluded.health_detail, stages = excluded.stages";

/// Adds a release. [`Error::AlreadyExists`] if the workload has one on that cluster.
pub async fn insert(tx: &mut Tx, release: &Release) -> Result<(), Error> {
    insert_many(tx, std::slice::from_ref(release)).await
}

/// Adds releases.
pub async fn insert_many(tx: &mut Tx, releases: &[Release]) -> Result<(), Error> {
    for some in releases.chunks(RELEASES_PER_STATEMENT) {
        build_insert(some)?.execute(tx).await?;
    }
    for release in releases {
        tx.add_count(release.workload(), release.state(), 1);
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
        written += build_insert(&existing)?.push(ON_CONFLICT_UPDATE).execute(tx).await?;
        for release in &existing {
            let (workload, previous) = before[&release.id()];
            tx.add_count(workload, previous, -1);
            tx.add_count(workload, release.state(), 1);
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

fn build_insert(releases: &[Release]) -> Result<Sql, Error> {
    releases.iter().enumerate().try_fold(sql(INSERT), |statement, (n, release)| {
        let statement = statement.push(if n == 0 { "(" } else { ", (" });
        let statement = push_names(statement, release);
        let statement = push_pointers(statement, release);
        let statement = push_axes(statement, release);
        Ok(push_structures(statement, release)?.push(")"))
    })
}

fn push_names(statement: Sql, release: &Release) -> Sql {
    statement
        .push_bind(release.id().to_string())
        .push(", ")
        .push_bind(release.workload().to_string())
        .push(", ")
        .push_bind(release.cluster().to_string())
        .push(", (SELECT name FROM workload WHERE id = ")
        .push_bind(release.workload().to_string())
        .push("), (SELECT name FROM cluster WHERE id = ")
        .push_bind(release.cluster().to_string())
        .push("), ")
}

fn push_pointers(statement: Sql, release: &Release) -> Sql {
    let digest = |digest: Option<&domain::Digest>| digest.map(ToString::to_string);
    statement
        .push_bind(release.revision().map(i64::from))
        .push(", ")
        .push_bind(release.wave().map(i64::from))
        .push(", ")
        .push_bind(release.gate().as_str().to_owned())
        .push(", ")
        .push_bind(release.generation())
        .push(", ")
        .push_bind(release.sync_nonce())
        .push(", ")
        .push_bind(digest(release.desired()))
        .push(", ")
        .push_bind(digest(release.released()))
        .push(", ")
        .push_bind(release.released_revision().map(i64::from))
        .push(", ")
        .push_bind(digest(release.applied()))
        .push(", ")
        .push_bind(i64::from(release.is_admitted_offline()))
        .push(", ")
}

fn push_axes(statement: Sql, release: &Release) -> Sql {
    let (state, known) = (release.state(), release.last_known_state());
    statement
        .push_bind(release.sync().as_str().to_owned())
        .push(", ")
        .push_bind(release.health().status.as_str().to_owned())
        .push(", ")
        .push_bind(release.connectivity().as_str().to_owned())
        .push(", ")
        .push_bind(state.as_str().to_owned())
        .push(", ")
        .push_bind(state_rank(state))
        .push(", ")
        .push_bind(known.as_str().to_owned())
        .push(", ")
        .push_bind(state_rank(known))
        .push(", ")
        .push_bind(release.state_since().millis())
        .push(", ")
        .push_bind(release.reported_at().map(domain::Timestamp::millis))
        .push(", ")
}

fn push_structures(statement: Sql, release: &Release) -> Result<Sql, Error> {
    Ok(statement
        .push_bind(i64::from(release.desired_release("").is_some()))
        .push(", ")
        .push_bind(release.last_known_message())
        .push(", ")
        .push_bind(to_json(&release.goal())?)
        .push(", ")
        .push_bind(to_json(&release.policies())?)
        .push(", ")
        .push_bind(to_json(&release.health())?)
        .push(", ")
        .push_bind(to_json(&release.stages())?))
}
