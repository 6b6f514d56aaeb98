//! Releases on the fleet page and in the list of workloads: the cells of its matrix, and the failing releases by cause.

use domain::fleet::{AttentionItem, FleetCell};
use domain::release::ReleaseState;
use domain::report::limits::truncate_text;
use domain::{ClusterId, WorkloadId};

use super::row::{read_state, state_rank};
use crate::decode::{DecodeError, RowReader, decode_readable_rows};
use crate::sql::sql;
use crate::{Error, Tx};

/// Maximum number of failing releases that one call reads: worst and oldest first, so the newest and mildest are left
/// out.
const SCANNED_MAX: i64 = 10_000;
/// Maximum number of clusters named per cause.
const CLUSTERS_NAMED_MAX: usize = 5;

/// Longest message of a cell, in bytes: a page has up to 30 000 of them. The page of the release has it complete.
const CELL_MESSAGE_MAX: usize = 1_000;

/// A cell of the fleet matrix, with its row and column.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixCell {
    /// The row.
    pub workload: WorkloadId,
    /// The column.
    pub cluster: ClusterId,
    /// The content.
    pub cell: FleetCell,
}

/// The releases of these workloads on these clusters.
pub async fn list_cells(
    tx: &mut Tx,
    workloads: &[WorkloadId],
    clusters: &[ClusterId],
) -> Result<Vec<MatrixCell>, Error> {
    let mut cells = Vec::new();
    for workloads in workloads.chunks(100) {
        for clusters in clusters.chunks(500) {
            let rows = sql("SELECT id, workload_id, cluster_id, state, last_known_state, state_since, \
                            SUBSTR(message, 1, 1001) AS message FROM release WHERE workload_id IN ")
            .push_list(workloads)
            .push(" AND cluster_id IN ")
            .push_list(clusters)
            .fetch_all(tx)
            .await?;
            cells.extend(decode_readable_rows(&rows, "release", read_cell));
        }
    }
    Ok(cells)
}

fn read_cell(row: &RowReader<'_>) -> Result<MatrixCell, DecodeError> {
    let (state, last_known) = (read_state(row, "state")?, read_state(row, "last_known_state")?);
    let message = match state {
        ReleaseState::Unknown => last_known.last_known_message(),
        _ => {
            let mut message = row.text("message")?;
            truncate_text(&mut message, CELL_MESSAGE_MAX);
            message
        }
    };
    Ok(MatrixCell {
        workload: row.parse("workload_id")?,
        cluster: row.parse("cluster_id")?,
        cell: FleetCell {
            release: row.parse("id")?,
            state,
            last_known,
            since: row.timestamp("state_since")?,
            message,
        },
    })
}

/// Failing and drifted releases, one entry per workload and cause: worst first, then oldest. At most `limit` entries. Drift that was
/// written in this transaction is not among them.
pub async fn list_attention(tx: &mut Tx, limit: u32) -> Result<Vec<AttentionItem>, Error> {
    const COLUMNS: &str = "workload_id, workload_name, cluster_name, state_rank, state_since, message";
    // The index of failing releases has no drifted ones: they are found by the counts of their workloads.
    let failing = format!(
        "SELECT {COLUMNS} FROM release WHERE state_rank >= {} UNION ALL \
         SELECT {COLUMNS} FROM release WHERE state_rank = {drifted} AND workload_id IN \
         (SELECT workload_id FROM release_count WHERE state_rank = {drifted} AND total > 0)",
        state_rank(ReleaseState::Blocked),
        drifted = state_rank(ReleaseState::Drifted),
    );
    let rows = sql("WITH failing AS (")
    .push(&failing)
    .push(" ORDER BY state_rank DESC, state_since LIMIT $1), ")
    .bind(SCANNED_MAX)
    .push(
        "numbered AS (SELECT failing.*, ROW_NUMBER() OVER \
         (PARTITION BY workload_id, message ORDER BY cluster_name) AS place FROM failing) \
         SELECT workload_id, workload_name, message, COUNT(*) AS n, MAX(state_rank) AS worst, \
         MIN(state_since) AS since, STRING_AGG(CASE WHEN place <= ",
    )
    .push(&CLUSTERS_NAMED_MAX.to_string())
    .push(
        " THEN cluster_name END, ',') AS clusters FROM numbered GROUP BY workload_id, workload_name, message \
         ORDER BY worst DESC, since, workload_name LIMIT $2",
    )
    .bind(i64::from(limit))
    .fetch_all(tx)
    .await?;
    Ok(decode_readable_rows(&rows, "release", read_attention))
}

/// Of each of these workloads with a failing or blocked release, the message of the worst one, the oldest among equals.
pub async fn list_worst_messages(
    tx: &mut Tx,
    workloads: &[WorkloadId],
) -> Result<Vec<(WorkloadId, String)>, Error> {
    let mut messages = Vec::new();
    for workloads in workloads.chunks(500) {
        let rows = sql("SELECT workload_id, message FROM (SELECT workload_id, message, ROW_NUMBER() OVER \
             (PARTITION BY workload_id ORDER BY state_rank DESC, state_since, cluster_name) AS place \
             FROM release WHERE state_rank >= ")
        .push(&state_rank(ReleaseState::Blocked).to_string())
        .push(" AND workload_id IN ")
        .push_list(workloads)
        .push(") AS failing WHERE place = 1")
        .fetch_all(tx)
        .await?;
        messages.extend(decode_readable_rows(&rows, "release", |row| {
            Ok((row.parse::<WorkloadId>("workload_id")?, row.text("message")?))
        }));
    }
    Ok(messages)
}

fn read_attention(row: &RowReader<'_>) -> Result<AttentionItem, DecodeError> {
    // Names of clusters contain no commas: they are labels of RFC 1123.
    let mut clusters: Vec<String> = row.text("clusters")?.split(',').map(str::to_owned).collect();
    clusters.sort();
    let worst = usize::try_from(row.int("worst")?).ok().and_then(|rank| ReleaseState::ALL.get(rank).copied());
    Ok(AttentionItem {
        workload: row.parse("workload_id")?,
        workload_name: row.text("workload_name")?,
        state: worst.ok_or("worst: unknown rank")?,
        message: row.text("message")?,
        clusters,
        count: row.count("n")?,
        since: row.timestamp("since")?,
    })
}
