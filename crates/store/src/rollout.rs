//! Rollouts, and what became of the releases of their waves.

use domain::release::Release;
use domain::rollout::{Alike, LetGo, Rollout, WaveTally};
use domain::{ReleaseId, Timestamp, WorkloadId};

use crate::queue::ROLLOUTS;
use crate::record::{Record, Why, all, one};
use crate::release::{self, row};
use crate::sql::{json, sql};
use crate::{Error, Tx};

/// Adds the rollout of a revision. [`Error::Unique`] if the revision has one.
pub async fn insert(tx: &mut Tx, rollout: &Rollout) -> Result<(), Error> {
    sql(
        "INSERT INTO rollout (workload_id, revision, active, needs_person, body) VALUES ($1, $2, $3, $4, $5)",
    )
    .text(rollout.workload)
    .bind(i64::from(rollout.revision))
    .bind(i64::from(rollout.state.is_active()))
    .bind(i64::from(rollout.state.needs_a_person()))
    .bind(json(rollout)?)
    .run(tx)
    .await?;
    ROLLOUTS.begin(tx, rollout.workload, rollout.started_at).await
}

/// Writes a rollout; says whether it was there.
pub async fn update(tx: &mut Tx, rollout: &Rollout) -> Result<bool, Error> {
    let changed = sql("UPDATE rollout SET active = $1, needs_person = $2, body = $3 \
                       WHERE workload_id = $4 AND revision = $5")
    .bind(i64::from(rollout.state.is_active()))
    .bind(i64::from(rollout.state.needs_a_person()))
    .bind(json(rollout)?)
    .text(rollout.workload)
    .bind(i64::from(rollout.revision))
    .run(tx)
    .await?;
    Ok(changed == 1)
}

const SELECT: &str = "SELECT workload_id, body FROM rollout WHERE workload_id = $1";

/// The rollout of one revision, kept for this transaction; `None` if the revision went everywhere at once.
pub async fn get(tx: &mut Tx, workload: WorkloadId, revision: u32) -> Result<Option<Rollout>, Error> {
    let statement = sql(SELECT).push(" AND revision = $2").text(workload).bind(i64::from(revision));
    one(statement.locking(tx).row(tx).await?, "rollout", read)
}

/// The rollout of a workload that can still go on, kept for this transaction.
pub async fn active(tx: &mut Tx, workload: WorkloadId) -> Result<Option<Rollout>, Error> {
    let statement = sql(SELECT).push(" AND active = 1").text(workload);
    one(statement.locking(tx).row(tx).await?, "rollout", read)
}

/// Whether a workload has a rollout that can still go on.
pub async fn is_active(tx: &mut Tx, workload: WorkloadId) -> Result<bool, Error> {
    let found = sql("SELECT COUNT(*) FROM rollout WHERE workload_id = $1 AND active = 1").text(workload);
    Ok(found.number(tx).await? > 0)
}

/// How many rollouts go on only if a person says so.
pub async fn count_waiting(tx: &mut Tx) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM rollout WHERE needs_person = 1").number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

/// The rollouts that go on only if a person says so, with the names of their workloads; at most `limit`.
pub async fn needing_a_person(tx: &mut Tx, limit: u32) -> Result<Vec<(String, Rollout)>, Error> {
    let rows =
        sql("SELECT r.workload_id, w.name, r.body FROM rollout r JOIN workload w ON w.id = r.workload_id \
                    WHERE r.needs_person = 1 ORDER BY r.workload_id LIMIT $1")
        .bind(i64::from(limit))
        .rows(tx)
        .await?;
    Ok(all(&rows, "rollout", |row| Ok((row.text("name")?, read(row)?))))
}

fn read(row: &Record<'_>) -> Result<Rollout, Why> {
    row.json("body")
}

/// The placer has written this revision to every cluster that it chose.
pub async fn set_placed(tx: &mut Tx, workload: WorkloadId, revision: u32) -> Result<(), Error> {
    let update = sql("UPDATE rollout_work SET placed = $1 WHERE workload_id = $2");
    update.bind(i64::from(revision)).text(workload).run(tx).await.map(drop)
}

/// Whether the placer has written this revision to every cluster.
pub async fn is_placed(tx: &mut Tx, workload: WorkloadId, revision: u32) -> Result<bool, Error> {
    let placed =
        sql("SELECT placed FROM rollout_work WHERE workload_id = $1").text(workload).number(tx).await?;
    Ok(placed == i64::from(revision))
}

/// The releases of a revision by wave and by what became of them; those that broke after `cutoff` do not count as failures
/// yet.
pub async fn tallies(tx: &mut Tx, rollout: &Rollout, cutoff: Timestamp) -> Result<Vec<WaveTally>, Error> {
    let rows = sql("SELECT wave, held, state, COUNT(*) AS n, \
                    CAST(SUM(CASE WHEN state_since <= $1 THEN 1 ELSE 0 END) AS BIGINT) AS settled, \
                    MIN(CASE WHEN state_since > $1 THEN state_since END) AS since \
                    FROM release WHERE workload_id = $2 AND revision = $3 AND wave IS NOT NULL \
                    GROUP BY wave, held, state")
    .bind(cutoff.millis())
    .text(rollout.workload)
    .bind(i64::from(rollout.revision))
    .rows(tx)
    .await?;
    let mut tallies = vec![WaveTally::default(); rollout.waves.len()];
    let read = all(&rows, "release", |row| {
        let alike = Alike { n: row.count("n")?, settled: row.count("settled")?, since: row.opt_at("since")? };
        Ok((row.count("wave")?, row.flag("held")?, row::state(row, "state")?, alike))
    });
    for (wave, held, state, alike) in read {
        if let Some(tally) = tallies.get_mut(wave as usize) {
            tally.add(held, state, &alike);
        }
    }
    Ok(tallies)
}

/// Releases of a revision that are held: of waves before that of `let_go` first, then of it at most so many, by the names of
/// their clusters; at most `limit` in all. They are kept for this transaction in the order of ids, as everybody locks them;
/// one that was let through meanwhile is among them.
pub async fn held(tx: &mut Tx, rollout: &Rollout, let_go: LetGo, limit: u32) -> Result<Vec<Release>, Error> {
    let of = |compared: &str, most: u32| {
        sql("SELECT r.id FROM release r WHERE r.workload_id = $1 AND r.revision = $2 AND r.held = 1 AND r.wave ")
            .push(compared)
            .push(" $3 ORDER BY r.wave, r.cluster_name LIMIT $4")
            .text(rollout.workload)
            .bind(i64::from(rollout.revision))
            .bind(i64::from(let_go.wave))
            .bind(i64::from(most))
    };
    let id = |row: &Record<'_>| row.parse::<ReleaseId>("id");
    let mut ids = all(&of("<", limit).rows(tx).await?, "release", id);
    let most = let_go.most.min(limit.saturating_sub(u32::try_from(ids.len()).unwrap_or(u32::MAX)));
    if most > 0 {
        ids.extend(all(&of("=", most).rows(tx).await?, "release", id));
    }
    release::many(tx, &ids).await
}
