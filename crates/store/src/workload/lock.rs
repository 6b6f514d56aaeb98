//! Locks a workload without reading its draft.

use domain::WorkloadId;

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

/// The resource version of a workload, locked until the transaction ends; `None` if there is no such workload.
pub async fn lock_revision(tx: &mut Tx, id: WorkloadId) -> Result<Option<i64>, Error> {
    let statement = sql("SELECT id, resource_version FROM workload WHERE id = $1").bind_text(id);
    decode_row(statement.push_locking_clause(tx).fetch_optional(tx).await?, "workload", |row| {
        row.int("resource_version")
    })
}
