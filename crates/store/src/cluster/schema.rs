//! The API schema that a cluster reported; clusters with equal schemas share the artifact.

use domain::{ClusterId, Digest};

use crate::decode::decode_rows;
use crate::sql::sql;
use crate::{Error, Tx};

/// Stores the digest of the API schema of this cluster, if it differs.
pub async fn set_schema_digest(tx: &mut Tx, id: ClusterId, digest: &Digest) -> Result<(), Error> {
    sql("UPDATE cluster_facts SET schema_digest = $1 WHERE cluster_id = $2 AND schema_digest <> $1")
        .bind_text(digest)
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}

/// The digests of the API schemas of these clusters, `None` where one can't be read, and whether each is stored; clusters that reported none
/// are left out.
pub async fn list_reported_schemas(
    tx: &mut Tx,
    ids: &[ClusterId],
) -> Result<Vec<(ClusterId, Option<Digest>, bool)>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(500) {
        let select = "SELECT f.cluster_id, f.schema_digest, CAST(CASE WHEN a.digest IS NULL THEN 0 ELSE 1 END AS BIGINT) AS stored \
                      FROM cluster_facts f LEFT JOIN artifact a ON a.digest = f.schema_digest \
                      WHERE f.schema_digest <> '' AND f.cluster_id IN ";
        let rows = sql(select).push_list(ids).fetch_all(tx).await?;
        found.extend(decode_rows(&rows, "cluster_facts", |row| {
            Ok((row.parse("cluster_id")?, row.parse("schema_digest").ok(), row.flag("stored")?))
        })?);
    }
    Ok(found)
}

/// The digests of the API schemas of these clusters; clusters that reported none are left out.
pub async fn list_schema_digests(tx: &mut Tx, ids: &[ClusterId]) -> Result<Vec<(ClusterId, Digest)>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(500) {
        let select = "SELECT cluster_id, schema_digest FROM cluster_facts WHERE schema_digest <> '' AND cluster_id IN ";
        let rows = sql(select).push_list(ids).fetch_all(tx).await?;
        found.extend(decode_rows(&rows, "cluster_facts", |row| {
            Ok((row.parse("cluster_id")?, row.parse("schema_digest")?))
        })?);
    }
    Ok(found)
}
