//! The version of what a cluster should hold; agents wait for a greater one.

use domain::ClusterId;

use crate::record::one;
use crate::sql::sql;
use crate::{Error, Tx};

/// The version, with the step this transaction will add; 0 for an unknown cluster.
pub async fn version(tx: &mut Tx, id: ClusterId) -> Result<i64, Error> {
    let row =
        sql("SELECT cluster_id, version FROM cluster_wants WHERE cluster_id = $1").text(id).row(tx).await?;
    let version = one(row, "cluster_wants", |row| row.int("version"))?.unwrap_or(0);
    Ok(version + i64::from(tx.wants.contains(&id)))
}

/// The wants of these clusters change with this transaction: their versions grow by one at its commit.
pub async fn bump(tx: &mut Tx, ids: &[ClusterId]) -> Result<(), Error> {
    tx.wants.extend(ids);
    Ok(())
}

/// At the commit: in one order for all, see [`Tx`].
pub(crate) async fn flush(tx: &mut Tx) -> Result<(), Error> {
    let ids: Vec<ClusterId> = std::mem::take(&mut tx.wants).into_iter().collect();
    for ids in ids.chunks(500) {
        sql("SELECT cluster_id FROM cluster_wants WHERE cluster_id IN ")
            .list(ids)
            .push(" ORDER BY cluster_id")
            .locking(tx)
            .rows(tx)
            .await?;
        let grow = "UPDATE cluster_wants SET version = version + 1 WHERE cluster_id IN ";
        sql(grow).list(ids).run(tx).await?;
    }
    Ok(())
}
