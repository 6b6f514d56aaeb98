//! Clusters that are not online, or have an API server that does not respond.

use domain::fleet::NonReportingCluster;
use domain::rollup::ReleaseCounts;

use crate::decode::{DecodeError, RowReader, decode_readable_rows};
use crate::sql::sql;
use crate::{Error, Tx, release};

/// The condition on the heartbeat `h` of a cluster.
const NOT_REPORTING: &str =
    "(h.connectivity IN ('Late', 'Offline') OR h.api_server_outage_since IS NOT NULL)";

/// How many clusters are not online, or have an API server that does not respond.
pub async fn count_not_online(tx: &mut Tx) -> Result<u32, Error> {
    let n =
        sql("SELECT COUNT(*) FROM cluster_heartbeat h WHERE ").push(NOT_REPORTING).fetch_number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

/// The first `limit` of them with their releases by last known state: the longest outage first, clusters that never connected last.
pub async fn list_not_reporting(tx: &mut Tx, limit: u32) -> Result<Vec<NonReportingCluster>, Error> {
    let rows = sql("SELECT c.id, c.name, h.connectivity, h.last_seen, h.api_server_outage_since \
                    FROM cluster c JOIN cluster_heartbeat h ON h.cluster_id = c.id WHERE ")
    .push(NOT_REPORTING)
    // A cluster that is online has a new heartbeat every few seconds: its outage began with that of its API server.
    .push(
        " ORDER BY CASE WHEN h.connectivity IN ('Late', 'Offline') THEN COALESCE(h.last_seen, 9223372036854775807) \
         ELSE h.api_server_outage_since END, c.name LIMIT ",
    )
    .push_bind(i64::from(limit))
    .fetch_all(tx)
    .await?;
    let mut clusters = decode_readable_rows(&rows, "cluster", read_cluster);
    let ids: Vec<_> = clusters.iter().map(|cluster| cluster.id).collect();
    let mut counts = release::last_known_counts_by_cluster(tx, &ids).await?;
    for cluster in &mut clusters {
        cluster.last_known = counts.remove(&cluster.id).unwrap_or_default();
    }
    Ok(clusters)
}

fn read_cluster(row: &RowReader<'_>) -> Result<NonReportingCluster, DecodeError> {
    Ok(NonReportingCluster {
        id: row.parse("id")?,
        name: row.text("name")?,
        connectivity: row.enum_value("connectivity")?,
        last_seen: row.opt_timestamp("last_seen")?,
        api_server_down_since: row.opt_timestamp("api_server_outage_since")?,
        last_known: ReleaseCounts::default(),
    })
}
