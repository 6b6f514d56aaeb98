//! Which schema a cluster has told: clusters that run the same share the artifact.

use domain::{ClusterId, Digest};

use crate::record::all;
use crate::sql::sql;
use crate::{Error, Tx};

/// Notes that what this cluster's API server says of its kinds has this digest. Nothing is written if it had it before.
pub async fn set_schema(tx: &mut Tx, id: ClusterId, digest: &Digest) -> Result<(), Error> {
    sql("UPDATE cluster_facts SET schema_digest = $1 WHERE cluster_id = $2 AND schema_digest <> $1")
        .text(digest)
        .text(id)
        .run(tx)
        .await
        .map(drop)
}

/// The schemas that these clusters have told. Who has told none is left out.
pub async fn schemas(tx: &mut Tx, ids: &[ClusterId]) -> Result<Vec<(ClusterId, Digest)>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(500) {
        let told = "SELECT cluster_id, schema_digest FROM cluster_facts WHERE schema_digest <> '' AND cluster_id IN ";
        let rows = sql(told).list(ids).rows(tx).await?;
        found.extend(all(&rows, "schema", |row| Ok((row.parse("cluster_id")?, row.parse("schema_digest")?))));
    }
    Ok(found)
}
