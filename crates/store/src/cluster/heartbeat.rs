//! Heartbeats of clusters: connectivity, and the position of the last accepted batch of reports.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use domain::cluster::Connectivity;
use domain::report::limits::MAX_SEQ_STEP;
use domain::{ClusterId, Timestamp};

use crate::decode::{decode_readable_rows, decode_row, decode_rows};
use crate::sql::sql;
use crate::{Error, Tx};

/// The incarnations that a hub issues, before the increment: far from the largest integer.
const INCARNATIONS: std::ops::Range<i64> = 0..1 << 53;

/// How the position of a batch of reports compares with that of the last accepted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportPosition {
    /// It follows: it is accepted.
    Next,
    /// It is repeated or late, or of an agent that was replaced.
    Late,
    /// This database never issued its incarnation or accepted the batches before it: the hub was restored from a backup,
    /// or the position is forged.
    Unknown,
}

/// Maximum number of clusters per call of [`list_overdue`].
const OVERDUE_MAX: i64 = 500;

/// Records heartbeats of these clusters at `at`; in batches, because heartbeats are frequent. Their releases are not
/// changed. Returns the clusters that were not online before, with their previous connectivity.
pub async fn record_heartbeats(
    tx: &mut Tx,
    ids: &[ClusterId],
    at: Timestamp,
) -> Result<Vec<(ClusterId, Connectivity)>, Error> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let mut reconnected = Vec::new();
    for ids in ids.chunks(500) {
        let rows = sql("SELECT cluster_id, connectivity FROM cluster_heartbeat WHERE cluster_id IN ")
            .push_list(ids)
            .push(" ORDER BY cluster_id")
            .push_locking_clause(tx)
            .fetch_all(tx)
            .await?;
        let before = decode_rows(&rows, "cluster_heartbeat", |row| {
            Ok((row.parse("cluster_id")?, row.enum_value("connectivity")?))
        })?;
        reconnected
            .extend(before.into_iter().filter(|(_, connectivity)| *connectivity != Connectivity::Online));
        // A delayed batch must not move `last_seen` back.
        sql("UPDATE cluster_heartbeat SET connectivity = 'Online', last_seen = \
             CASE WHEN last_seen IS NULL OR last_seen < $1 THEN $1 ELSE last_seen END WHERE cluster_id IN ")
        .bind(at.millis())
        .push_list(ids)
        .execute(tx)
        .await?;
    }
    Ok(reconnected)
}

/// Records that the API server of a cluster does not respond; returns whether that is new. The start of an outage stays.
pub async fn begin_api_server_outage(
    tx: &mut Tx,
    id: ClusterId,
    error: &str,
    at: Timestamp,
) -> Result<bool, Error> {
    let set = "UPDATE cluster_heartbeat SET api_server_outage_since = $1, api_server_error = $2 \
               WHERE cluster_id = $3 AND api_server_outage_since IS NULL";
    Ok(sql(set).bind(at.millis()).bind_text(error).bind_text(id).execute(tx).await? == 1)
}

/// Records that the API server of a cluster responds; returns whether it did not before.
pub async fn end_api_server_outage(tx: &mut Tx, id: ClusterId) -> Result<bool, Error> {
    let set = "UPDATE cluster_heartbeat SET api_server_outage_since = NULL, api_server_error = '' \
               WHERE cluster_id = $1 AND api_server_outage_since IS NOT NULL";
    Ok(sql(set).bind_text(id).execute(tx).await? == 1)
}

/// Sets the connectivity of a cluster; returns whether it changed. For its releases see
/// [`crate::release::set_connectivity_by_cluster`].
pub async fn set_connectivity(tx: &mut Tx, id: ClusterId, connectivity: Connectivity) -> Result<bool, Error> {
    let set = "UPDATE cluster_heartbeat SET connectivity = $1 WHERE cluster_id = $2 AND connectivity <> $1";
    Ok(sql(set).bind_text(connectivity.as_str()).bind_text(id).execute(tx).await? == 1)
}

/// The connectivity of the releases of these clusters, as far as they are known and their rows can be read. A transaction that has locked the
/// releases of a cluster before reads no older one than a later change of connectivity writes to them.
pub async fn list_release_connectivity(
    tx: &mut Tx,
    ids: &[ClusterId],
) -> Result<BTreeMap<ClusterId, Connectivity>, Error> {
    let mut found = BTreeMap::new();
    for ids in ids.chunks(500) {
        let select = "SELECT cluster_id, connectivity, api_server_outage_since FROM cluster_heartbeat WHERE cluster_id IN ";
        let rows = sql(select).push_list(ids).fetch_all(tx).await?;
        found.extend(decode_readable_rows(&rows, "cluster_heartbeat", |row| {
            let connectivity: Connectivity = row.enum_value("connectivity")?;
            let has_outage = row.opt_timestamp("api_server_outage_since")?.is_some();
            Ok((row.parse::<ClusterId>("cluster_id")?, connectivity.of_releases(has_outage)))
        }));
    }
    Ok(found)
}

/// The last heartbeat of any cluster.
pub async fn last_heartbeat(tx: &mut Tx) -> Result<Option<Timestamp>, Error> {
    let row = sql("SELECT 'latest' AS cluster_id, MAX(last_seen) AS last_seen FROM cluster_heartbeat");
    let last =
        decode_row(row.fetch_optional(tx).await?, "cluster_heartbeat", |row| row.opt_timestamp("last_seen"))?;
    Ok(last.flatten())
}

/// A cluster whose connectivity may have to be lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverdueCluster {
    /// The cluster.
    pub id: ClusterId,
    /// Its stored connectivity.
    pub connectivity: Connectivity,
    /// Its last heartbeat.
    pub last_seen: Option<Timestamp>,
    /// Its lease.
    pub lease_seconds: u32,
}

/// Clusters whose connectivity has to be lowered at `now`, unless the hub could not record their heartbeats: online without a heartbeat for more than one lease, or
/// late without one for three leases. Oldest heartbeat first, at most 500. One that can't be read is left out, and logged,
/// so that it does not keep the others online.
pub async fn list_overdue(tx: &mut Tx, now: Timestamp) -> Result<Vec<OverdueCluster>, Error> {
    let rows = sql("SELECT h.cluster_id, h.connectivity, h.last_seen, c.lease_seconds FROM cluster_heartbeat h JOIN cluster c ON c.id = h.cluster_id \
                    WHERE (h.connectivity = 'Online' AND h.last_seen < $1 - c.lease_seconds * 1000) \
                       OR (h.connectivity = 'Late' AND h.last_seen <= $1 - c.lease_seconds * 3000) \
                    ORDER BY h.last_seen LIMIT $2")
    .bind(now.millis())
    .bind(OVERDUE_MAX)
    .fetch_all(tx)
    .await?;
    Ok(decode_readable_rows(&rows, "cluster_heartbeat", |row| {
        Ok(OverdueCluster {
            id: row.parse("cluster_id")?,
            connectivity: row.enum_value("connectivity")?,
            last_seen: row.opt_timestamp("last_seen")?,
            lease_seconds: row.count("lease_seconds")?,
        })
    }))
}

/// Begins the next incarnation of a cluster, for a new session of its agent or another agent: batches of older ones are
/// rejected from then on. A number outside of [`INCARNATIONS`], which no hub issued, is replaced by the first. `None` for
/// an unknown cluster.
pub async fn begin_incarnation(tx: &mut Tx, id: ClusterId) -> Result<Option<i64>, Error> {
    let begin = "UPDATE cluster_heartbeat SET seq = 0, incarnation = \
                 CASE WHEN incarnation >= $1 AND incarnation < $2 THEN incarnation + 1 ELSE 1 END \
                 WHERE cluster_id = $3";
    let (first, end) = (INCARNATIONS.start, INCARNATIONS.end);
    if sql(begin).bind(first).bind(end).bind_text(id).execute(tx).await? == 0 {
        return Ok(None);
    }
    Ok(get_report_position(tx, id).await?.map(|(incarnation, _)| incarnation))
}

/// Incarnation and sequence of the last accepted batch of reports; `None` for an unknown cluster. The row stays locked
/// until a writing transaction ends.
pub async fn get_report_position(tx: &mut Tx, id: ClusterId) -> Result<Option<(i64, i64)>, Error> {
    let row = sql("SELECT cluster_id, incarnation, seq FROM cluster_heartbeat WHERE cluster_id = $1");
    let row = row.bind_text(id).push_locking_clause(tx);
    decode_row(row.fetch_optional(tx).await?, "cluster_heartbeat", |row| {
        Ok((row.int("incarnation")?, row.int("seq")?))
    })
}

/// Compares the position of a batch with that of the last accepted one. In a writing transaction the answer stays true
/// until its end, so of two copies of a batch one is accepted.
pub async fn check_report_position(
    tx: &mut Tx,
    id: ClusterId,
    incarnation: i64,
    seq: i64,
) -> Result<ReportPosition, Error> {
    let Some((current, last)) = get_report_position(tx, id).await? else {
        return Ok(ReportPosition::Unknown);
    };
    Ok(match incarnation.cmp(&current) {
        Ordering::Less => ReportPosition::Late,
        Ordering::Equal if seq <= last => ReportPosition::Late,
        Ordering::Equal if seq.saturating_sub(last) <= MAX_SEQ_STEP => ReportPosition::Next,
        Ordering::Equal | Ordering::Greater => ReportPosition::Unknown,
    })
}

/// Advances the report position if the batch is [`ReportPosition::Next`]; returns how it compares.
pub async fn advance_report_position(
    tx: &mut Tx,
    id: ClusterId,
    incarnation: i64,
    seq: i64,
) -> Result<ReportPosition, Error> {
    let position = check_report_position(tx, id, incarnation, seq).await?;
    if position == ReportPosition::Next {
        let advance = "UPDATE cluster_heartbeat SET seq = $1 WHERE cluster_id = $2";
        sql(advance).bind(seq).bind_text(id).execute(tx).await?;
    }
    Ok(position)
}
