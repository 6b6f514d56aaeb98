//! Connectivity of releases, which changes for all releases of a cluster together.

use domain::cluster::Connectivity;
use domain::release::ReleaseState;
use domain::{ClusterId, Timestamp, WorkloadId};

use super::row::{gone_state_names, read_state, state_rank};
use crate::decode::decode_rows;
use crate::sql::sql;
use crate::{Error, Tx};

/// Sets the connectivity of every release of the cluster, and the state that follows from it, with the same result as
/// `Release::set_connectivity` on each. Returns how many had another connectivity before.
pub async fn set_connectivity_by_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
    connectivity: Connectivity,
    at: Timestamp,
) -> Result<u64, Error> {
    if tx.is_postgres() {
        // In the order of ids, as in every other transaction: the updates below lock rows in the order in which they find them.
        let select = sql("SELECT id FROM release WHERE cluster_id = $1 AND connectivity <> $2 ORDER BY id");
        let select = select.bind_text(cluster).bind_text(connectivity.as_str());
        select.push_locking_clause(tx).fetch_all(tx).await?;
    }
    let mut moved = 0;
    // One statement per previous connectivity: the previous state then follows from the returned rows, without a
    // second read that may be stale.
    for old in [Connectivity::Online, Connectivity::Late, Connectivity::Offline]
        .into_iter()
        .filter(|old| *old != connectivity)
    {
        moved += update_connectivity(tx, cluster, old, connectivity, at).await?;
    }
    Ok(moved)
}

async fn update_connectivity(
    tx: &mut Tx,
    cluster: ClusterId,
    old: Connectivity,
    new: Connectivity,
    at: Timestamp,
) -> Result<u64, Error> {
    let gone = gone_state_names().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
    // A release that is gone keeps its state; the others are unknown while the cluster is offline.
    let hidden = if new == Connectivity::Offline {
        format!("last_known_state NOT IN ({gone})")
    } else {
        "1 = 0".to_owned()
    };
    let (word, rank) = (ReleaseState::Unknown.as_str(), state_rank(ReleaseState::Unknown));
    // A cluster that was reached has been so since its admission.
    let admitted_offline = if new == Connectivity::Offline { "admitted_offline" } else { "0" };
    let rows = sql("UPDATE release SET connectivity = $1, admitted_offline = ")
        .push(admitted_offline)
        .push(", ")
        .bind_text(new.as_str())
        .push("state_since = CASE WHEN state <> CASE WHEN ")
        .push(&hidden)
        .push(&format!(
            " THEN '{word}' ELSE last_known_state END THEN $2 ELSE state_since END, state = CASE WHEN "
        ))
        .bind(at.millis())
        .push(&hidden)
        .push(&format!(" THEN '{word}' ELSE last_known_state END, state_rank = CASE WHEN "))
        .push(&hidden)
        .push(&format!(" THEN {rank} ELSE last_known_rank END WHERE cluster_id = $3 AND connectivity = $4"))
        .bind_text(cluster)
        .bind_text(old.as_str())
        .push(" RETURNING id, workload_id, last_known_state")
        .fetch_all(tx)
        .await?;
    let known: Vec<(WorkloadId, ReleaseState)> = decode_rows(&rows, "release", |row| {
        Ok((row.parse("workload_id")?, read_state(row, "last_known_state")?))
    })?;
    for (workload, known) in known {
        tx.add_count(workload, derive_state(known, old), -1);
        tx.add_count(workload, derive_state(known, new), 1);
        if derive_state(known, old) != derive_state(known, new) {
            tx.note_state(workload, derive_state(known, new), at);
        }
    }
    Ok(rows.len() as u64)
}

/// The state of a release whose last known state is `known`; the same rule as `Release::state`.
fn derive_state(known: ReleaseState, connectivity: Connectivity) -> ReleaseState {
    if connectivity == Connectivity::Offline && !known.is_gone() { ReleaseState::Unknown } else { known }
}
