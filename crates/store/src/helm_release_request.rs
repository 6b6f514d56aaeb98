//! Helm releases that users want to adopt: requested from the agent of a cluster, answered once, and deleted when the answer is read.

use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::{ClusterId, Timestamp};

use crate::admission::admit_column;
use crate::decode::{decode_row, decode_rows};
use crate::sealed::columns::HELM_READING;
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

const TABLE: &str = "helm_release_request";

/// Adds a request, or renews one for the same release.
pub async fn put(tx: &mut Tx, cluster: ClusterId, request: &HelmReleaseRequest) -> Result<(), Error> {
    sql("INSERT INTO helm_release_request (cluster_id, namespace, name, requested_at, reading) VALUES ($1, $2, $3, $4, NULL) \
         ON CONFLICT (cluster_id, namespace, name) DO UPDATE SET requested_at = excluded.requested_at, reading = NULL")
    .bind_text(cluster)
    .bind_text(&request.namespace)
    .bind_text(&request.name)
    .bind(request.requested_at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// The requests of a cluster that are not answered and not older than `since`.
pub async fn list_open(
    tx: &mut Tx,
    cluster: ClusterId,
    since: Timestamp,
) -> Result<Vec<HelmReleaseRequest>, Error> {
    let rows = sql("SELECT namespace, name, requested_at FROM helm_release_request \
                    WHERE cluster_id = $1 AND requested_at >= $2 AND reading IS NULL ORDER BY namespace, name")
    .bind_text(cluster)
    .bind(since.millis())
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, TABLE, |row| {
        Ok(HelmReleaseRequest {
            namespace: row.text("namespace")?,
            name: row.text("name")?,
            requested_at: row.timestamp("requested_at")?,
        })
    })
}

/// Stores the answer to a request; returns whether the request is there and was not answered.
pub async fn answer(
    tx: &mut Tx,
    cluster: ClusterId,
    request: &HelmReleaseRequest,
    reading: &HelmReleaseReading,
) -> Result<bool, Error> {
    let key = [cluster.to_string(), request.namespace.clone(), request.name.clone()];
    let changed = sql("UPDATE helm_release_request SET reading = $1 \
                       WHERE cluster_id = $2 AND namespace = $3 AND name = $4 AND requested_at = $5 AND reading IS NULL")
    .bind(tx.seal_text(&HELM_READING, &key, to_json(reading)?))
    .bind_text(cluster)
    .bind_text(&request.namespace)
    .bind_text(&request.name)
    .bind(request.requested_at.millis())
    .execute(tx)
    .await?;
    Ok(changed > 0)
}

/// The answer to a request; `None` while there is none, or when the request was renewed.
pub async fn get_reading(
    tx: &mut Tx,
    cluster: ClusterId,
    request: &HelmReleaseRequest,
) -> Result<Option<HelmReleaseReading>, Error> {
    let row = sql(
        "SELECT cluster_id, namespace, name, reading FROM helm_release_request WHERE cluster_id = $1 AND namespace = $2 AND name = $3 \
                   AND requested_at = $4 AND reading IS NOT NULL",
    )
    .bind_text(cluster)
    .bind_text(&request.namespace)
    .bind_text(&request.name)
    .bind(request.requested_at.millis())
    .fetch_optional(tx)
    .await?;
    if let Some(row) = &row {
        admit_column(row, TABLE, "reading")?;
    }
    decode_row(row, TABLE, |row| row.json("reading"))
}

/// Deletes a request with its answer.
pub async fn delete(tx: &mut Tx, cluster: ClusterId, request: &HelmReleaseRequest) -> Result<(), Error> {
    sql("DELETE FROM helm_release_request WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND requested_at = $4")
        .bind_text(cluster)
        .bind_text(&request.namespace)
        .bind_text(&request.name)
        .bind(request.requested_at.millis())
        .execute(tx)
        .await
        .map(drop)
}
