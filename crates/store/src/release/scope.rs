//! What an action on several workloads concerns: clusters and objects.

use std::collections::BTreeMap;

use domain::WorkloadId;

use super::row::gone_state_names;
use crate::decode::decode_rows;
use crate::sql::sql;
use crate::{Error, Tx};

/// Number of clusters with a release of one of these workloads, without releases whose last known state ends them.
pub async fn count_clusters(tx: &mut Tx, workloads: &[WorkloadId]) -> Result<i64, Error> {
    sql("SELECT COUNT(DISTINCT cluster_id) FROM release WHERE workload_id IN ")
        .push_list(workloads)
        .push(" AND last_known_state NOT IN ")
        .push_list(gone_state_names())
        .fetch_number(tx)
        .await
}

/// Number of objects of each of these workloads on its clusters, as these reported last.
pub async fn count_objects(
    tx: &mut Tx,
    workloads: &[WorkloadId],
) -> Result<BTreeMap<WorkloadId, u32>, Error> {
    let length = tx.json_array_length("o.resources");
    let rows = sql("SELECT r.workload_id AS workload_id, CAST(SUM(")
        .push(&length)
        .push(
            ") AS BIGINT) AS n FROM release r JOIN release_resources o ON o.release_id = r.id \
             WHERE r.workload_id IN ",
        )
        .push_list(workloads)
        .push(" AND r.last_known_state NOT IN ")
        .push_list(gone_state_names())
        .push(" GROUP BY r.workload_id")
        .fetch_all(tx)
        .await?;
    let counts =
        decode_rows(&rows, "release_resources", |row| Ok((row.parse("workload_id")?, row.count("n")?)))?;
    Ok(counts.into_iter().collect())
}
