//! Writing releases with everything that is derived from them.

use std::collections::BTreeMap;

use domain::cluster::Reach;
use domain::release::{Release, State};
use domain::{ReleaseId, WorkloadId};

use super::row::{rank, state};
use crate::record::all;
use crate::sql::{Sql, json, sql};
use crate::{Error, Tx, exposure};

/// Releases written by one statement; with 29 values each, well below the limit of both engines.
const AT_ONCE: usize = 32;

const INSERT: &str = "INSERT INTO release (id, workload_id, cluster_id, workload_name, cluster_name, revision, wave, \
     held, generation, sync_nonce, desired, released, released_revision, applied, sync, health, reach, state, state_rank, known, known_rank, \
     state_since, reported_at, wanted, message, goal, policies, health_detail, stages) VALUES ";

/// On update: everything but ids and names, which never change.
const REPLACE: &str = " ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, \
     wave = excluded.wave, held = excluded.held, released_revision = excluded.released_revision, \
     generation = excluded.generation, sync_nonce = excluded.sync_nonce, desired = excluded.desired, \
     released = excluded.released, applied = excluded.applied, sync = excluded.sync, health = excluded.health, \
     reach = excluded.reach, state = excluded.state, state_rank = excluded.state_rank, known = excluded.known, \
     known_rank = excluded.known_rank, state_since = excluded.state_since, reported_at = excluded.reported_at, \
     wanted = excluded.wanted, message = excluded.message, goal = excluded.goal, policies = excluded.policies, \
     health_detail = excluded.health_detail, stages = excluded.stages";

/// Adds a release. [`Error::Unique`] if the workload has one on that cluster.
pub async fn insert(tx: &mut Tx, release: &Release) -> Result<(), Error> {
    insert_many(tx, std::slice::from_ref(release)).await
}

/// Adds releases.
pub async fn insert_many(tx: &mut Tx, releases: &[Release]) -> Result<(), Error> {
    for some in releases.chunks(AT_ONCE) {
        values(some)?.run(tx).await?;
    }
    for release in releases {
        tx.count(release.workload, release.state(), 1);
    }
    Ok(())
}

/// Writes a release; false if it is not there any more.
pub async fn update(tx: &mut Tx, release: &Release) -> Result<bool, Error> {
    Ok(update_many(tx, std::slice::from_ref(release)).await? == 1)
}

/// Writes releases; those that are not there any more are left out. What is gone exposes nothing any more. Returns how many
/// were written.
pub async fn update_many(tx: &mut Tx, releases: &[Release]) -> Result<u64, Error> {
    let mut written = 0;
    for some in releases.chunks(AT_ONCE) {
        let before = states(tx, some).await?;
        let there: Vec<Release> =
            some.iter().filter(|release| before.contains_key(&release.id)).cloned().collect();
        if there.is_empty() {
            continue;
        }
        written += values(&there)?.push(REPLACE).run(tx).await?;
        for release in &there {
            let (workload, was) = before[&release.id];
            tx.count(workload, was, -1);
            tx.count(workload, release.state(), 1);
        }
        for release in there.iter().filter(|release| release.last_known_state().is_gone()) {
            exposure::forget(tx, release.workload, release.cluster).await?;
        }
    }
    Ok(written)
}

/// What the rows say now; they are kept for this transaction.
async fn states(
    tx: &mut Tx,
    releases: &[Release],
) -> Result<BTreeMap<ReleaseId, (WorkloadId, State)>, Error> {
    let rows = sql("SELECT id, workload_id, state FROM release WHERE id IN ")
        .list(releases.iter().map(|release| release.id))
        .push(" ORDER BY id")
        .locking(tx)
        .rows(tx)
        .await?;
    let read = all(&rows, "release", |row| {
        Ok((row.parse("id")?, (row.parse("workload_id")?, state(row, "state")?)))
    });
    Ok(read.into_iter().collect())
}

fn values(releases: &[Release]) -> Result<Sql, Error> {
    releases.iter().enumerate().try_fold(sql(INSERT), |statement, (n, release)| {
        let statement = statement.push(if n == 0 { "(" } else { ", (" });
        let statement = names(statement, release);
        let statement = pointers(statement, release);
        let statement = axes(statement, release);
        Ok(structures(statement, release)?.push(")"))
    })
}

fn names(statement: Sql, release: &Release) -> Sql {
    statement
        .put(release.id.to_string())
        .push(", ")
        .put(release.workload.to_string())
        .push(", ")
        .put(release.cluster.to_string())
        .push(", (SELECT name FROM workload WHERE id = ")
        .put(release.workload.to_string())
        .push("), (SELECT name FROM cluster WHERE id = ")
        .put(release.cluster.to_string())
        .push("), ")
}

fn pointers(statement: Sql, release: &Release) -> Sql {
    let digest = |digest: &Option<domain::Digest>| digest.as_ref().map(ToString::to_string);
    statement
        .put(release.revision.map(i64::from))
        .push(", ")
        .put(release.wave.map(i64::from))
        .push(", ")
        .put(i64::from(release.is_held()))
        .push(", ")
        .put(release.generation)
        .push(", ")
        .put(release.sync_nonce)
        .push(", ")
        .put(digest(&release.desired))
        .push(", ")
        .put(digest(&release.released))
        .push(", ")
        .put(release.released_revision.map(i64::from))
        .push(", ")
        .put(digest(&release.applied))
        .push(", ")
}

fn axes(statement: Sql, release: &Release) -> Sql {
    let (state, known) = (release.state(), release.last_known_state());
    statement
        .put(release.sync.word().to_owned())
        .push(", ")
        .put(release.health.status.word().to_owned())
        .push(", ")
        .put(release.reach.word().to_owned())
        .push(", ")
        .put(state.word().to_owned())
        .push(", ")
        .put(rank(state))
        .push(", ")
        .put(known.word().to_owned())
        .push(", ")
        .put(rank(known))
        .push(", ")
        .put(release.state_since.millis())
        .push(", ")
        .put(release.reported_at.map(domain::Timestamp::millis))
        .push(", ")
}

fn structures(statement: Sql, release: &Release) -> Result<Sql, Error> {
    Ok(statement
        .put(i64::from(release.want("").is_some()))
        .push(", ")
        .put(known_message(release))
        .push(", ")
        .put(json(&release.goal)?)
        .push(", ")
        .put(json(&release.policies)?)
        .push(", ")
        .put(json(&release.health)?)
        .push(", ")
        .put(json(&release.stages)?))
}

/// The sentence as if the cluster were heard from; that it is not is added when it is read.
fn known_message(release: &Release) -> String {
    if release.reach == Reach::Offline {
        Release { reach: Reach::Online, ..release.clone() }.message()
    } else {
        release.message()
    }
}
