//! Rollouts, and the progress of the releases in their waves.

use domain::cluster::Connectivity;
use domain::release::{Gate, Release, ReleaseState};
use domain::rollout::{Admission, Rollout, StateCount, WaveCounts};
use domain::{ClusterId, ReleaseId, Timestamp, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_readable_rows, decode_row, decode_rows};
use crate::queue::ROLLOUTS;
use crate::release::{self, row};
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

mod clusters;

pub use clusters::list_clusters;

/// Releases that are read at once.
const RELEASES_PER_READ: i64 = 200;

/// Adds the rollout of a revision. [`Error::AlreadyExists`] if the revision has one.
pub async fn insert(tx: &mut Tx, rollout: &Rollout) -> Result<(), Error> {
    note_cause(tx, rollout);
    sql(
        "INSERT INTO rollout (workload_id, revision, active, needs_attention, body) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind_text(rollout.workload)
    .bind(i64::from(rollout.revision))
    .bind(i64::from(rollout.state.is_active()))
    .bind(i64::from(rollout.state.needs_attention()))
    .bind(to_json(rollout)?)
    .execute(tx)
    .await?;
    ROLLOUTS.insert_row(tx, rollout.workload, rollout.started_at).await
}

/// Writes a rollout; returns whether it existed.
pub async fn update(tx: &mut Tx, rollout: &Rollout) -> Result<bool, Error> {
    note_cause(tx, rollout);
    let changed = sql("UPDATE rollout SET active = $1, needs_attention = $2, body = $3 \
                       WHERE workload_id = $4 AND revision = $5")
    .bind(i64::from(rollout.state.is_active()))
    .bind(i64::from(rollout.state.needs_attention()))
    .bind(to_json(rollout)?)
    .bind_text(rollout.workload)
    .bind(i64::from(rollout.revision))
    .execute(tx)
    .await?;
    Ok(changed == 1)
}

/// A rollout that waits for a person, is rolled back, or has silent clusters may open an incident of its workload.
fn note_cause(tx: &mut Tx, rollout: &Rollout) {
    tx.note_cause(rollout.workload, rollout.may_open_incident(), rollout.since);
}

const SELECT: &str = "SELECT workload_id, body FROM rollout WHERE workload_id = $1";

/// The rollout of one revision, locked until the transaction ends; `None` if the revision has no waves.
pub async fn get(tx: &mut Tx, workload: WorkloadId, revision: u32) -> Result<Option<Rollout>, Error> {
    let statement = sql(SELECT).push(" AND revision = $2").bind_text(workload).bind(i64::from(revision));
    decode_row(statement.push_locking_clause(tx).fetch_optional(tx).await?, "rollout", read)
}

/// One that is active, or was rolled back and is not replaced yet.
const IS_OPEN: &str = " AND (active = 1 OR needs_attention = 1)";

/// The active rollout of a workload, or the one that was rolled back and is not replaced yet, locked until the transaction ends.
pub async fn get_open(tx: &mut Tx, workload: WorkloadId) -> Result<Option<Rollout>, Error> {
    let statement = sql(SELECT).push(IS_OPEN).bind_text(workload);
    decode_row(statement.push_locking_clause(tx).fetch_optional(tx).await?, "rollout", read)
}

/// The same for its incidents. Nothing is locked: a change that is committed later is a mark of its own.
pub async fn find_open(tx: &mut Tx, workload: WorkloadId) -> Result<Option<Rollout>, Error> {
    let statement = sql(SELECT).push(IS_OPEN).bind_text(workload);
    decode_row(statement.fetch_optional(tx).await?, "rollout", read)
}

/// Locks the rollouts of these workloads that are active, or were rolled back and are not replaced yet, until the transaction ends, in the
/// order of workloads.
pub async fn lock_open(tx: &mut Tx, workloads: &[WorkloadId]) -> Result<(), Error> {
    let mut workloads = workloads.to_vec();
    workloads.sort_unstable();
    for some in workloads.chunks(500) {
        let select =
            sql("SELECT workload_id FROM rollout WHERE workload_id IN ").push_list(some).push(IS_OPEN);
        select.push(" ORDER BY workload_id").push_locking_clause(tx).fetch_all(tx).await?;
    }
    Ok(())
}

/// The workloads with an active rollout that have a release on this cluster.
pub async fn list_active_on(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<WorkloadId>, Error> {
    let rows =
        sql("SELECT o.workload_id AS id FROM rollout o JOIN release r ON r.workload_id = o.workload_id \
                    WHERE o.active = 1 AND r.cluster_id = $1")
        .bind_text(cluster)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, "rollout", |row| row.parse::<WorkloadId>("id"))
}

/// Number of rollouts that need attention.
pub async fn count_needing_attention(tx: &mut Tx) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM rollout WHERE needs_attention = 1").fetch_number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

/// The rollouts that need attention, with the names of their workloads; at most `limit`.
pub async fn list_needing_attention(tx: &mut Tx, limit: u32) -> Result<Vec<(String, Rollout)>, Error> {
    let rows =
        sql("SELECT r.workload_id, w.name, r.body FROM rollout r JOIN workload w ON w.id = r.workload_id \
                    WHERE r.needs_attention = 1 ORDER BY r.workload_id LIMIT $1")
        .bind(i64::from(limit))
        .fetch_all(tx)
        .await?;
    Ok(decode_readable_rows(&rows, "rollout", |row| Ok((row.text("name")?, read(row)?))))
}

fn read(row: &RowReader<'_>) -> Result<Rollout, DecodeError> {
    row.json("body")
}

/// The state of a release for its wave. One that is rendered, not gated and not released waits for a workload that its own depends on: its
/// state is that of the revision that runs, about which the rollout asks nothing.
const STATE_OF_REVISION: &str = "CASE WHEN gate = 'Open' AND desired IS NOT NULL \
                                 AND (released_revision IS NULL OR released_revision <> revision) \
                                 THEN 'Pending' ELSE state END";

/// Counts the releases of a revision by wave and state; those that began to fail after `cutoff` do not count as
/// failures yet.
pub async fn count_waves(
    tx: &mut Tx,
    rollout: &Rollout,
    cutoff: Timestamp,
) -> Result<Vec<WaveCounts>, Error> {
    // An index has all columns of this count.
    let mut counted = count_states(tx, rollout, cutoff, "state").await?;
    let may_be_of_earlier = |state: ReleaseState| {
        state.is_failing() || matches!(state, ReleaseState::Unknown | ReleaseState::Drifted)
    };
    if counted.iter().any(|(_, gate, state, _)| *gate == Gate::Open && may_be_of_earlier(*state)) {
        counted = count_states(tx, rollout, cutoff, STATE_OF_REVISION).await?;
    }
    let mut waves = vec![WaveCounts::default(); rollout.waves.len()];
    for (wave, gate, state, count) in counted {
        match gate {
            Gate::RolledBack => waves[wave].rolled_back += count.count,
            _ => waves[wave].add(gate == Gate::Closed, state, &count),
        }
    }
    Ok(waves)
}

/// Whether a rollout can change by the state of a release of this revision: it is active, or clusters are rolled back on which the
/// revision fails, also one that gets it after the others.
pub async fn is_affected(tx: &mut Tx, workload: WorkloadId, revision: Option<u32>) -> Result<bool, Error> {
    let found = sql("SELECT COUNT(*) FROM rollout WHERE workload_id = $1 \
                     AND (active = 1 OR (revision = $2 AND body LIKE '%\"onFailure\":\"rollbackCluster\"%'))")
    .bind_text(workload)
    .bind(revision.map_or(0, i64::from));
    Ok(found.fetch_number(tx).await? > 0)
}

/// Admitted releases of a revision that fail with it, were never operational with it and had another bundle or none before; at most
/// `limit`: first those with another bundle, because a first installation may have to stay, and of these the ones that fail for the longest
/// time. They are locked until the transaction ends, in the order of ids.
pub async fn list_failing(tx: &mut Tx, rollout: &Rollout, limit: u32) -> Result<Vec<Release>, Error> {
    let failing = ReleaseState::ALL.iter().copied().filter(|state| state.is_failing());
    let rows = sql("SELECT r.id FROM release r WHERE r.workload_id = $1 AND r.revision = $2 AND r.released_revision = $2 \
                    AND r.wave IS NOT NULL AND r.gate = 'Open' \
                    AND (r.confirmed_revision IS NULL OR r.confirmed_revision <> $2) \
                    AND r.desired = r.released \
                    AND (r.rollback_bundle <> r.released OR r.rollback_bundle IS NULL \
                         AND (r.installed_revision IS NULL OR r.installed_revision = $2)) AND r.state IN ")
    .bind_text(rollout.workload)
    .bind(i64::from(rollout.revision))
    .push_list(failing.map(ReleaseState::as_str))
    .push(" ORDER BY CASE WHEN r.rollback_bundle IS NULL THEN 1 ELSE 0 END, r.state_since, r.id LIMIT ")
    .push_bind(i64::from(limit))
    .fetch_all(tx)
    .await?;
    let ids = decode_rows(&rows, "release", |row: &RowReader<'_>| row.parse::<ReleaseId>("id"))?;
    release::get_many(tx, &ids).await
}

/// The releases of a revision by wave, gate and `state`, an expression.
async fn count_states(
    tx: &mut Tx,
    rollout: &Rollout,
    cutoff: Timestamp,
    state: &str,
) -> Result<Vec<(usize, Gate, ReleaseState, StateCount)>, Error> {
    let rows = sql("SELECT MIN(id) AS id, wave, gate, ")
        .push(state)
        .push(
            " AS counted_state, connectivity, admitted_offline, COUNT(*) AS n, \
             CAST(SUM(CASE WHEN state_since <= $1 THEN 1 ELSE 0 END) AS BIGINT) AS past_fail_after, \
             MIN(CASE WHEN state_since > $1 THEN state_since END) AS since \
             FROM release WHERE workload_id = $2 AND revision = $3 AND wave IS NOT NULL \
             GROUP BY wave, gate, counted_state, connectivity, admitted_offline",
        )
        .bind(cutoff.millis())
        .bind_text(rollout.workload)
        .bind(i64::from(rollout.revision))
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, "release", |row| {
        let count = StateCount {
            count: row.count("n")?,
            past_fail_after: row.count("past_fail_after")?,
            since: row.opt_timestamp("since")?,
            is_late: row.enum_value::<Connectivity>("connectivity")? == Connectivity::Late,
            is_admitted_offline: row.int("admitted_offline")? != 0,
        };
        let wave = usize::try_from(row.int("wave")?).ok().filter(|wave| *wave < rollout.waves.len());
        let wave = wave.ok_or("wave: the rollout has no such wave")?;
        Ok((wave, row.enum_value::<Gate>("gate")?, row::read_state(row, "counted_state")?, count))
    })
}

/// The clusters of a workload that went offline after a wave had admitted them.
pub async fn list_silent_clusters(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<ClusterId>, Error> {
    let rows = sql(
        "SELECT id, cluster_id FROM release WHERE workload_id = $1 AND wave IS NOT NULL AND gate = 'Open' \
                    AND admitted_offline = 0 AND connectivity = $2 ORDER BY id",
    )
    .bind_text(workload)
    .bind(Connectivity::Offline.as_str().to_owned())
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "release", |row| row.parse("cluster_id"))
}

/// Gated releases of a revision: all of the waves before that of `admission`, then at most `admission.most` of that
/// wave, by the names of their clusters; at most `limit` in all. They are locked until the transaction ends, in the order
/// of ids, as in every other transaction; one that was admitted meanwhile is among them.
pub async fn list_gated(
    tx: &mut Tx,
    rollout: &Rollout,
    admission: Admission,
    limit: u32,
) -> Result<Vec<Release>, Error> {
    let select = |compared: &str, most: u32| {
        sql("SELECT r.id FROM release r WHERE r.workload_id = $1 AND r.revision = $2 AND r.gate = 'Closed' AND r.wave ")
            .push(compared)
            .push(" $3 ORDER BY r.wave, r.cluster_name LIMIT $4")
            .bind_text(rollout.workload)
            .bind(i64::from(rollout.revision))
            .bind(i64::from(admission.wave))
            .bind(i64::from(most))
    };
    let id = |row: &RowReader<'_>| row.parse::<ReleaseId>("id");
    let mut ids = decode_rows(&select("<", limit).fetch_all(tx).await?, "release", id)?;
    let most = admission.limit.min(limit.saturating_sub(u32::try_from(ids.len()).unwrap_or(u32::MAX)));
    if most > 0 {
        ids.extend(decode_rows(&select("=", most).fetch_all(tx).await?, "release", id)?);
    }
    release::get_many(tx, &ids).await
}

/// Releases that a rollback of the waves from `first_wave` on has to roll back, at most `limit`: those that got the revision, and had
/// another bundle before. They are locked until the transaction ends.
pub async fn list_to_roll_back(
    tx: &mut Tx,
    rollout: &Rollout,
    first_wave: u32,
    limit: u32,
) -> Result<Vec<Release>, Error> {
    let rows = sql(
        "SELECT r.id FROM release r WHERE r.workload_id = $1 AND r.revision = $2 AND r.released_revision = $2 \
         AND r.gate = 'Open' AND r.desired = r.released AND r.wave >= $3 AND r.rollback_bundle <> r.released \
         ORDER BY r.wave, r.cluster_name LIMIT $4",
    )
    .bind_text(rollout.workload)
    .bind(i64::from(rollout.revision))
    .bind(i64::from(first_wave))
    .bind(i64::from(limit))
    .fetch_all(tx)
    .await?;
    let ids = decode_rows(&rows, "release", |row| row.parse::<ReleaseId>("id"))?;
    release::get_many(tx, &ids).await
}

/// Whether any release of the waves from `first_wave` on is returning to the bundle that it had before ([`Release::is_rolling_back`]).
pub async fn is_any_rolling_back(tx: &mut Tx, rollout: &Rollout, first_wave: u32) -> Result<bool, Error> {
    let mut after = String::new();
    loop {
        // Those that have reported their bundle as applied since are left out; what one fails with is only in its stages.
        let rows = sql("SELECT r.id FROM release r WHERE r.workload_id = $1 AND r.revision = $2 AND r.gate = 'RolledBack' \
             AND r.wave >= $3 AND r.sync IN ('Pending', 'Applying', 'Stale') AND r.id > $4 ORDER BY r.id LIMIT $5")
        .bind_text(rollout.workload)
        .bind(i64::from(rollout.revision))
        .bind(i64::from(first_wave))
        .bind_text(&after)
        .bind(RELEASES_PER_READ)
        .fetch_all(tx)
        .await?;
        let ids = decode_rows(&rows, "release", |row| row.parse::<ReleaseId>("id"))?;
        let Some(last) = ids.last() else { return Ok(false) };
        after = last.to_string();
        if release::get_many(tx, &ids).await?.iter().any(Release::is_rolling_back) {
            return Ok(true);
        }
    }
}
