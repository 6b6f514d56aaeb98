//! Certificates of agents, and the join status of their clusters.

use std::collections::HashMap;

use domain::join::JoinStatus;
use domain::{ClusterId, Timestamp};

use crate::decode::{DecodeError, RowReader, decode_readable_rows, decode_row};
use crate::sql::{Sql, sql};
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// A certificate that was issued to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateRecord {
    /// Its serial number, in hex.
    pub serial: String,
    /// The cluster that it authenticates.
    pub cluster: ClusterId,
    /// SHA-256 of the public key, in hex.
    pub fingerprint: String,
    /// The certificate itself, as PEM.
    pub certificate: String,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it expires.
    pub not_after: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

table_row! {
    CertificateRecord as certificate in "agent_certificate" => CertificateRecord;
    Key serial = &certificate.serial => serial: text;
    Fixed cluster_id = certificate.cluster.to_string() => cluster: parse;
    Fixed fingerprint = &certificate.fingerprint => fingerprint: text;
    Fixed certificate = &certificate.certificate => certificate: text;
    Fixed created_at = certificate.created_at => created_at: timestamp;
    Fixed not_after = certificate.not_after => not_after: timestamp;
    Mutable revoked_at = certificate.revoked_at => revoked_at: opt_timestamp;
}

fn select() -> Sql {
    table::select_from::<CertificateRecord>().push(" ")
}

/// Adds a certificate.
pub async fn insert(tx: &mut Tx, certificate: &CertificateRecord) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(certificate))?.execute(tx).await.map(drop)
}

/// The certificate with this serial number.
pub async fn get(tx: &mut Tx, serial: &str) -> Result<Option<CertificateRecord>, Error> {
    let row = select().push("WHERE serial = $1").bind_text(serial).fetch_optional(tx).await?;
    decode_row(row, "agent_certificate", read_row)
}

/// The first certificate that this cluster got for this key.
pub async fn find_first(
    tx: &mut Tx,
    cluster: ClusterId,
    fingerprint: &str,
) -> Result<Option<CertificateRecord>, Error> {
    let row = select()
        .push("WHERE cluster_id = $1 AND fingerprint = $2 ORDER BY created_at, serial LIMIT 1")
        .bind_text(cluster)
        .bind_text(fingerprint)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "agent_certificate", read_row)
}

/// The newest certificate of this cluster, whatever its key is and whether it is valid or not.
pub async fn find_newest(tx: &mut Tx, cluster: ClusterId) -> Result<Option<CertificateRecord>, Error> {
    let row = select()
        .push("WHERE cluster_id = $1 ORDER BY created_at DESC, serial DESC LIMIT 1")
        .bind_text(cluster)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "agent_certificate", read_row)
}

/// The certificate of this cluster and key that expires last, if it expires after `until` and is not revoked.
pub async fn find_valid(
    tx: &mut Tx,
    cluster: ClusterId,
    fingerprint: &str,
    until: Timestamp,
) -> Result<Option<CertificateRecord>, Error> {
    let row = select()
        .push("WHERE cluster_id = $1 AND fingerprint = $2 AND revoked_at IS NULL AND not_after > $3 ")
        .push("ORDER BY not_after DESC LIMIT 1")
        .bind_text(cluster)
        .bind_text(fingerprint)
        .bind(until.millis())
        .fetch_optional(tx)
        .await?;
    decode_row(row, "agent_certificate", read_row)
}

/// Revokes every certificate of a cluster; returns how many were not revoked before. The caller has locked the heartbeat of the cluster.
pub async fn revoke_by_cluster(tx: &mut Tx, cluster: ClusterId, at: Timestamp) -> Result<u64, Error> {
    let revoke = "UPDATE agent_certificate SET revoked_at = $1 WHERE cluster_id = $2 AND revoked_at IS NULL";
    sql(revoke).bind(at.millis()).bind_text(cluster).execute(tx).await
}

/// Records that a cluster was accepted, or accepted again, and clears an earlier revocation.
pub async fn record_acceptance(
    tx: &mut Tx,
    cluster: ClusterId,
    by: &str,
    at: Timestamp,
) -> Result<(), Error> {
    sql("INSERT INTO cluster_join (cluster_id, accepted_by, accepted_at, joined_at, agent_version, revoked_at) \
         VALUES ($1, $2, $3, NULL, '', NULL) ON CONFLICT (cluster_id) DO UPDATE SET \
         accepted_by = excluded.accepted_by, accepted_at = excluded.accepted_at, revoked_at = NULL")
    .bind_text(cluster)
    .bind_text(by)
    .bind(at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// Records the first connection of a cluster's agent, and its version; returns whether either is new.
pub async fn record_join(
    tx: &mut Tx,
    cluster: ClusterId,
    version: &str,
    at: Timestamp,
) -> Result<bool, Error> {
    let joined = "UPDATE cluster_join SET joined_at = CASE WHEN joined_at IS NULL THEN $1 ELSE joined_at END, \
                  agent_version = $2 WHERE cluster_id = $3 AND (joined_at IS NULL OR agent_version <> $2)";
    Ok(sql(joined).bind(at.millis()).bind_text(version).bind_text(cluster).execute(tx).await? == 1)
}

/// Records that the certificates of a cluster were revoked.
pub async fn record_revocation(tx: &mut Tx, cluster: ClusterId, at: Timestamp) -> Result<(), Error> {
    let revoked = "UPDATE cluster_join SET revoked_at = $1 WHERE cluster_id = $2";
    sql(revoked).bind(at.millis()).bind_text(cluster).execute(tx).await.map(drop)
}

/// The join status of these clusters; a cluster without an agent of its own has no entry.
pub async fn list_join_statuses(
    tx: &mut Tx,
    clusters: &[ClusterId],
) -> Result<HashMap<ClusterId, JoinStatus>, Error> {
    let mut found = HashMap::new();
    for clusters in clusters.chunks(500) {
        let rows = sql("SELECT cluster_id, accepted_by, accepted_at, joined_at, agent_version, revoked_at \
                        FROM cluster_join WHERE cluster_id IN ")
        .push_list(clusters)
        .fetch_all(tx)
        .await?;
        found.extend(decode_readable_rows(&rows, "cluster_join", |row| {
            Ok((row.parse("cluster_id")?, read_join_status(row)?))
        }));
    }
    Ok(found)
}

fn read_join_status(row: &RowReader<'_>) -> Result<JoinStatus, DecodeError> {
    Ok(JoinStatus {
        accepted_by: row.text("accepted_by")?,
        accepted_at: row.timestamp("accepted_at")?,
        joined_at: row.opt_timestamp("joined_at")?,
        agent_version: row.text("agent_version")?,
        revoked_at: row.opt_timestamp("revoked_at")?,
    })
}
