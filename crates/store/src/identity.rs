//! Certificates of agents, and how far their clusters have come in joining.

use std::collections::HashMap;

use domain::join::Joining;
use domain::{ClusterId, Timestamp};

use crate::record::{Record, Why, all, one};
use crate::sql::sql;
use crate::{Error, Tx};

/// A certificate that was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its serial number, in hex.
    pub serial: String,
    /// The cluster it speaks for.
    pub cluster: ClusterId,
    /// SHA-256 of the public key, in hex.
    pub fingerprint: String,
    /// The certificate itself, as PEM.
    pub certificate: String,
    /// When it was given out.
    pub created_at: Timestamp,
    /// When it ends.
    pub not_after: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

const SELECT: &str = "SELECT serial, cluster_id, fingerprint, certificate, created_at, not_after, revoked_at \
     FROM agent_identity ";

/// Adds a certificate.
pub async fn insert(tx: &mut Tx, identity: &Identity) -> Result<(), Error> {
    sql("INSERT INTO agent_identity (serial, cluster_id, fingerprint, certificate, created_at, not_after, revoked_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)")
    .text(&identity.serial)
    .text(identity.cluster)
    .text(&identity.fingerprint)
    .text(&identity.certificate)
    .bind(identity.created_at.millis())
    .bind(identity.not_after.millis())
    .bind(identity.revoked_at.map(Timestamp::millis))
    .run(tx)
    .await
    .map(drop)
}

/// The certificate with this serial number.
pub async fn get(tx: &mut Tx, serial: &str) -> Result<Option<Identity>, Error> {
    let row = sql(SELECT).push("WHERE serial = $1").text(serial).row(tx).await?;
    one(row, "agent_identity", read)
}

/// The certificate of this cluster and key that lasts longest, if it lasts until `until` and was not revoked.
pub async fn lasting(
    tx: &mut Tx,
    cluster: ClusterId,
    fingerprint: &str,
    until: Timestamp,
) -> Result<Option<Identity>, Error> {
    let row = sql(SELECT)
        .push("WHERE cluster_id = $1 AND fingerprint = $2 AND revoked_at IS NULL AND not_after > $3 ")
        .push("ORDER BY not_after DESC LIMIT 1")
        .text(cluster)
        .text(fingerprint)
        .bind(until.millis())
        .row(tx)
        .await?;
    one(row, "agent_identity", read)
}

/// Revokes every certificate of a cluster; returns how many were not revoked before.
pub async fn revoke_of_cluster(tx: &mut Tx, cluster: ClusterId, at: Timestamp) -> Result<u64, Error> {
    let revoke = "UPDATE agent_identity SET revoked_at = $1 WHERE cluster_id = $2 AND revoked_at IS NULL";
    sql(revoke).bind(at.millis()).text(cluster).run(tx).await
}

/// Forgets certificates that ended before `before`; returns how many.
pub async fn delete_before(tx: &mut Tx, before: Timestamp) -> Result<u64, Error> {
    sql("DELETE FROM agent_identity WHERE not_after < $1").bind(before.millis()).run(tx).await
}

/// A cluster was let in, or let in again: what was revoked before counts no more.
pub async fn accepted(tx: &mut Tx, cluster: ClusterId, by: &str, at: Timestamp) -> Result<(), Error> {
    sql("INSERT INTO cluster_join (cluster_id, accepted_by, accepted_at, joined_at, agent_version, revoked_at) \
         VALUES ($1, $2, $3, NULL, '', NULL) ON CONFLICT (cluster_id) DO UPDATE SET \
         accepted_by = excluded.accepted_by, accepted_at = excluded.accepted_at, revoked_at = NULL")
    .text(cluster)
    .text(by)
    .bind(at.millis())
    .run(tx)
    .await
    .map(drop)
}

/// The agent of a cluster came with this version; says whether that is news.
pub async fn joined(tx: &mut Tx, cluster: ClusterId, version: &str, at: Timestamp) -> Result<bool, Error> {
    let joined = "UPDATE cluster_join SET joined_at = CASE WHEN joined_at IS NULL THEN $1 ELSE joined_at END, \
                  agent_version = $2 WHERE cluster_id = $3 AND (joined_at IS NULL OR agent_version <> $2)";
    Ok(sql(joined).bind(at.millis()).text(version).text(cluster).run(tx).await? == 1)
}

/// The certificates of a cluster were revoked.
pub async fn revoked(tx: &mut Tx, cluster: ClusterId, at: Timestamp) -> Result<(), Error> {
    let revoked = "UPDATE cluster_join SET revoked_at = $1 WHERE cluster_id = $2";
    sql(revoked).bind(at.millis()).text(cluster).run(tx).await.map(drop)
}

/// How these clusters joined; a cluster without an agent of its own has no entry.
pub async fn joinings(tx: &mut Tx, clusters: &[ClusterId]) -> Result<HashMap<ClusterId, Joining>, Error> {
    let mut found = HashMap::new();
    for clusters in clusters.chunks(500) {
        let rows = sql("SELECT cluster_id, accepted_by, accepted_at, joined_at, agent_version, revoked_at \
                        FROM cluster_join WHERE cluster_id IN ")
        .list(clusters)
        .rows(tx)
        .await?;
        found.extend(all(&rows, "cluster_join", |row| Ok((row.parse("cluster_id")?, joining(row)?))));
    }
    Ok(found)
}

fn joining(row: &Record<'_>) -> Result<Joining, Why> {
    Ok(Joining {
        accepted_by: row.text("accepted_by")?,
        accepted_at: row.at("accepted_at")?,
        joined_at: row.opt_at("joined_at")?,
        agent_version: row.text("agent_version")?,
        revoked_at: row.opt_at("revoked_at")?,
    })
}

fn read(row: &Record<'_>) -> Result<Identity, Why> {
    Ok(Identity {
        serial: row.text("serial")?,
        cluster: row.parse("cluster_id")?,
        fingerprint: row.text("fingerprint")?,
        certificate: row.text("certificate")?,
        created_at: row.at("created_at")?,
        not_after: row.at("not_after")?,
        revoked_at: row.opt_at("revoked_at")?,
    })
}
