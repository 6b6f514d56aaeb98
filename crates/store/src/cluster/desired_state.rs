//! The version of the desired state of a cluster; agents wait for a greater one.

use domain::ClusterId;

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

/// The version, with the pending increment of this transaction; 0 for an unknown cluster.
pub async fn version(tx: &mut Tx, id: ClusterId) -> Result<i64, Error> {
    let row = sql("SELECT cluster_id, version FROM cluster_desired_state WHERE cluster_id = $1")
        .bind_text(id)
        .fetch_optional(tx)
        .await?;
    let version = decode_row(row, "cluster_desired_state", |row| row.int("version"))?.unwrap_or(0);
    Ok(version + i64::from(tx.changed_desired_states.contains(&id)))
}

/// Increments the versions of these clusters by one at the commit, once per transaction.
pub async fn bump(tx: &mut Tx, ids: &[ClusterId]) -> Result<(), Error> {
    tx.changed_desired_states.extend(ids);
    Ok(())
}

/// Writes the pending increments at the commit, in sorted order, see [`Tx`].
pub(crate) async fn flush(tx: &mut Tx) -> Result<(), Error> {
    let ids: Vec<ClusterId> = std::mem::take(&mut tx.changed_desired_states).into_iter().collect();
    for ids in ids.chunks(500) {
        sql("SELECT cluster_id FROM cluster_desired_state WHERE cluster_id IN ")
            .push_list(ids)
            .push(" ORDER BY cluster_id")
            .push_locking_clause(tx)
            .fetch_all(tx)
            .await?;
        let grow = "UPDATE cluster_desired_state SET version = version + 1 WHERE cluster_id IN ";
        sql(grow).push_list(ids).execute(tx).await?;
    }
    Ok(())
}
