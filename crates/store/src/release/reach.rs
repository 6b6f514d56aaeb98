//! The third axis moves for a whole cluster at once.

use domain::cluster::Reach;
use domain::release::State;
use domain::{ClusterId, Timestamp, WorkloadId};

use super::row::{gone_words, rank, state};
use crate::record::all;
use crate::sql::sql;
use crate::{Error, Tx};

/// Every release of the cluster gets this reach and the state that follows from it, as `Release::reached` would do one
/// by one. Returns how many had another reach before.
pub async fn reach_of_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
    reach: Reach,
    at: Timestamp,
) -> Result<u64, Error> {
    let mut moved = 0;
    // By the reach they had: then what they were is known from what they are, with no second look that may be late.
    for old in [Reach::Online, Reach::Late, Reach::Offline].into_iter().filter(|old| *old != reach) {
        moved += move_from(tx, cluster, (old, reach), at).await?;
    }
    Ok(moved)
}

async fn move_from(
    tx: &mut Tx,
    cluster: ClusterId,
    (old, new): (Reach, Reach),
    at: Timestamp,
) -> Result<u64, Error> {
    let gone = gone_words().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
    // Whatever the axes say, what is gone stays gone; the rest is unknown while the cluster is offline.
    let hidden = if new == Reach::Offline { format!("known NOT IN ({gone})") } else { "1 = 0".to_owned() };
    let (word, rank) = (State::Unknown.word(), rank(State::Unknown));
    let rows = sql("UPDATE release SET reach = $1, ")
        .text(new.word())
        .push("state_since = CASE WHEN state <> CASE WHEN ")
        .push(&hidden)
        .push(&format!(" THEN '{word}' ELSE known END THEN $2 ELSE state_since END, state = CASE WHEN "))
        .bind(at.millis())
        .push(&hidden)
        .push(&format!(" THEN '{word}' ELSE known END, state_rank = CASE WHEN "))
        .push(&hidden)
        .push(&format!(" THEN {rank} ELSE known_rank END WHERE cluster_id = $3 AND reach = $4"))
        .text(cluster)
        .text(old.word())
        .push(" RETURNING id, workload_id, known")
        .rows(tx)
        .await?;
    let known: Vec<(WorkloadId, State)> =
        all(&rows, "release", |row| Ok((row.parse("workload_id")?, state(row, "known")?)));
    for (workload, known) in known {
        tx.count(workload, shown(known, old), -1);
        tx.count(workload, shown(known, new), 1);
    }
    Ok(rows.len() as u64)
}

/// What is shown of a release that was last known to be `known`; the rule of `Release::state`.
fn shown(known: State, reach: Reach) -> State {
    if reach == Reach::Offline && !known.is_gone() { State::Unknown } else { known }
}
