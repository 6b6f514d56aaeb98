//! Locks a workload without reading its draft.

use domain::WorkloadId;

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

/// The revision of a workload's row, locked until the transaction ends; `None` if there is no such workload.
pub async fn lock_revision(tx: &mut Tx, id: WorkloadId) -> Result<Option<i64>, Error> {
    let statement = sql("SELECT id, revision FROM workload WHERE id = $1").bind_text(id);
    decode_row(statement.push_locking_clause(tx).fetch_optional(tx).await?, "workload", |row| {
        row.int("revision")
    })
}
