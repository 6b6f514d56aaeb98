//! Reverts of single fields of entries of the drift inbox (E-9): requested by users, executed and answered by the agents.

use domain::drift::DriftFieldRevert;
use domain::report::{FieldRevertOutcome, FieldRevertRequest};
use domain::{ClusterId, DriftId, ReleaseId};

use crate::decode::decode_rows;
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

/// Requests the revert of fields of an entry, in place of an earlier request.
pub async fn put(
    tx: &mut Tx,
    entry: DriftId,
    request_id: &str,
    revert: &DriftFieldRevert,
) -> Result<(), Error> {
    sql("INSERT INTO field_revert (drift_id, request_id, paths, requested_by, requested_at, error) \
         VALUES ($1, $2, $3, $4, $5, NULL) ON CONFLICT (drift_id) DO UPDATE SET request_id = excluded.request_id, \
         paths = excluded.paths, requested_by = excluded.requested_by, requested_at = excluded.requested_at, error = NULL")
    .bind_text(entry)
    .bind(request_id.to_owned())
    .bind(to_json(&revert.paths)?)
    .bind(revert.by.clone())
    .bind(revert.at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// The requests that a cluster has not answered, by entry.
pub async fn list_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<FieldRevertRequest>, Error> {
    let rows = sql("SELECT f.drift_id, f.request_id, f.paths, d.release_id, d.object FROM field_revert f \
                    JOIN drift_item d ON d.id = f.drift_id JOIN release r ON r.id = d.release_id \
                    WHERE r.cluster_id = $1 AND f.error IS NULL ORDER BY f.drift_id")
    .bind_text(cluster)
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "field_revert", |row| {
        Ok(FieldRevertRequest {
            id: row.text("request_id")?,
            release: row.parse("release_id")?,
            object: row.json("object")?,
            paths: row.json("paths")?,
        })
    })
}

/// The ids of the requests about a release that wait for an answer: at most as many as it has entries.
pub async fn list_open(tx: &mut Tx, release: ReleaseId) -> Result<Vec<String>, Error> {
    let rows =
        sql("SELECT f.drift_id, f.request_id FROM field_revert f JOIN drift_item d ON d.id = f.drift_id \
                    WHERE d.release_id = $1 AND f.error IS NULL ORDER BY f.drift_id")
        .bind_text(release)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, "field_revert", |row| row.text("request_id"))
}

/// Records the answer to a request about a release: it is deleted if the fields were reverted. Returns whether it waited for an answer.
pub async fn record_outcome(
    tx: &mut Tx,
    release: ReleaseId,
    outcome: &FieldRevertOutcome,
) -> Result<bool, Error> {
    let statement = match &outcome.error {
        None => sql("DELETE FROM field_revert WHERE request_id = "),
        Some(error) => {
            sql("UPDATE field_revert SET error = ").push_bind(error.clone()).push(" WHERE request_id = ")
        }
    };
    let statement = statement.push_bind(outcome.id.clone()).push(" AND error IS NULL AND drift_id IN ");
    let statement = statement.push("(SELECT id FROM drift_item WHERE release_id = ");
    let statement = statement.push_bind(release.to_string()).push(")");
    Ok(statement.execute(tx).await? > 0)
}

/// Forgets why fields of an entry were not reverted: that was said of other values.
pub(crate) async fn delete_refusal(tx: &mut Tx, release: ReleaseId, object_key: &str) -> Result<(), Error> {
    sql("DELETE FROM field_revert WHERE error IS NOT NULL AND drift_id IN \
         (SELECT id FROM drift_item WHERE release_id = $1 AND object_key = $2)")
    .bind_text(release)
    .bind_text(object_key)
    .execute(tx)
    .await
    .map(drop)
}
