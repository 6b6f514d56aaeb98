//! Artifacts: bytes by their digest. Bundles are kept here, to which releases point, and the schemas of clusters.

use domain::{Digest, Timestamp};

use crate::record::one;
use crate::sql::sql;
use crate::{Error, Tx};

/// What was put again is noted once a day: often enough for [`delete_unreferenced`], and nothing is written in between.
const NOTED_EVERY: i64 = 24 * 3_600_000;

/// Keeps bytes under their digest; nothing is written if they are there. The caller has made the digest from them.
pub async fn put(tx: &mut Tx, digest: &Digest, bytes: &[u8], at: Timestamp) -> Result<(), Error> {
    let touched = "SELECT touched_at FROM artifact WHERE digest = $1";
    let row = sql(touched).text(digest).row(tx).await?;
    let fresh = |touched: Timestamp| at.since(touched) <= NOTED_EVERY;
    if one(row, "artifact", |row| row.at("touched_at"))?.is_some_and(fresh) {
        return Ok(());
    }
    sql("INSERT INTO artifact (digest, touched_at, body) VALUES ($1, $2, $3) \
         ON CONFLICT (digest) DO UPDATE SET touched_at = excluded.touched_at")
    .text(digest)
    .bind(at.millis())
    .bind(bytes.to_vec())
    .run(tx)
    .await
    .map(drop)
}

/// The bytes with this digest.
pub async fn get(tx: &mut Tx, digest: &Digest) -> Result<Option<Vec<u8>>, Error> {
    let row = sql("SELECT digest, body FROM artifact WHERE digest = $1").text(digest).row(tx).await?;
    one(row, "artifact", |row| row.get::<Vec<u8>>("body"))
}

/// Whether there are bytes with this digest.
pub async fn is_kept(tx: &mut Tx, digest: &Digest) -> Result<bool, Error> {
    let count = sql("SELECT COUNT(*) FROM artifact WHERE digest = $1").text(digest).number(tx).await?;
    Ok(count > 0)
}

/// Forgets what no release and no cluster points at and nobody has put for two days. The two days are what makes it safe beside a
/// transaction that has put an artifact and not yet committed the release which points at it. Returns how many.
pub async fn delete_unreferenced(tx: &mut Tx, now: Timestamp) -> Result<u64, Error> {
    sql("DELETE FROM artifact WHERE touched_at < $1 \
         AND NOT EXISTS (SELECT 1 FROM release r WHERE r.desired = artifact.digest) \
         AND NOT EXISTS (SELECT 1 FROM release r WHERE r.released = artifact.digest) \
         AND NOT EXISTS (SELECT 1 FROM release r WHERE r.applied = artifact.digest) \
         AND NOT EXISTS (SELECT 1 FROM cluster_facts f WHERE f.schema_digest = artifact.digest)")
    .bind(now.plus_millis(-2 * NOTED_EVERY).millis())
    .run(tx)
    .await
}
