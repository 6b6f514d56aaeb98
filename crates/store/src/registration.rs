//! Registrations: public keys of agents that requested to join, and the decisions on them.

use domain::join::{Registration, RegistrationState};
use domain::{ClusterId, Timestamp};

use crate::decode::{DecodeError, RowReader, decode_readable_rows, decode_row};
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

const SELECT: &str = "SELECT fingerprint, token_id, name, state, facts, labels, requested_at, decided_by, cluster_id \
     FROM registration ";
/// Maximum number of listed registrations, oldest first.
const LIST_MAX: i64 = 500;

/// Writes a registration with its certificate request, replacing an earlier one of the same key. [`Error::AlreadyExists`] if
/// another key is pending under the same name.
pub async fn save(tx: &mut Tx, registration: &Registration, csr: &str) -> Result<(), Error> {
    sql("INSERT INTO registration (fingerprint, token_id, name, state, csr, facts, labels, requested_at, decided_by, \
         cluster_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (fingerprint) DO UPDATE SET token_id = excluded.token_id, name = excluded.name, \
         state = excluded.state, csr = excluded.csr, facts = excluded.facts, labels = excluded.labels, \
         requested_at = excluded.requested_at, decided_by = excluded.decided_by, cluster_id = excluded.cluster_id")
    .bind_text(&registration.fingerprint)
    .bind_text(registration.token)
    .bind_text(&registration.name)
    .bind_text(registration.state.as_str())
    .bind_text(csr)
    .bind(to_json(&registration.facts)?)
    .bind(to_json(&registration.labels)?)
    .bind(registration.requested_at.millis())
    .bind_opt_text(registration.decided_by.as_deref())
    .bind_opt_text(registration.cluster)
    .execute(tx)
    .await
    .map(drop)
}

/// The registration of this key; the row is locked until the transaction ends.
pub async fn get_by_fingerprint(tx: &mut Tx, fingerprint: &str) -> Result<Option<Registration>, Error> {
    let row = sql(SELECT)
        .push("WHERE fingerprint = $1")
        .bind_text(fingerprint)
        .push_locking_clause(tx)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "registration", read)
}

/// The pending registration with this name; the row is locked until the transaction ends.
pub async fn get_pending(tx: &mut Tx, name: &str) -> Result<Option<Registration>, Error> {
    let row = sql(SELECT)
        .push("WHERE name = $1 AND state = 'pending'")
        .bind_text(name)
        .push_locking_clause(tx)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "registration", read)
}

/// Every registration that was not accepted, oldest first, at most 500.
pub async fn list_not_accepted(tx: &mut Tx) -> Result<Vec<Registration>, Error> {
    let rows = sql(SELECT)
        .push("WHERE state <> 'accepted' ORDER BY requested_at, fingerprint LIMIT $1")
        .bind(LIST_MAX);
    Ok(decode_readable_rows(&rows.fetch_all(tx).await?, "registration", read))
}

/// Number of pending registrations.
pub async fn count_pending(tx: &mut Tx) -> Result<i64, Error> {
    sql("SELECT COUNT(*) FROM registration WHERE state = 'pending'").fetch_number(tx).await
}

/// Writes a decision; returns whether the registration existed.
pub async fn record_decision(tx: &mut Tx, registration: &Registration, at: Timestamp) -> Result<bool, Error> {
    let decide = "UPDATE registration SET state = $1, decided_by = $2, decided_at = $3, cluster_id = $4 \
                  WHERE fingerprint = $5";
    let changed = sql(decide)
        .bind_text(registration.state.as_str())
        .bind_opt_text(registration.decided_by.as_deref())
        .bind(at.millis())
        .bind_opt_text(registration.cluster)
        .bind_text(&registration.fingerprint)
        .execute(tx)
        .await?;
    Ok(changed == 1)
}

/// Rejects the accepted keys of this cluster, so that they cannot register again with their old tokens.
pub async fn reject_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<(), Error> {
    let reject = "UPDATE registration SET state = 'rejected' WHERE cluster_id = $1 AND state = 'accepted'";
    sql(reject).bind_text(cluster).execute(tx).await.map(drop)
}

/// Deletes a registration; returns whether it existed.
pub async fn delete(tx: &mut Tx, fingerprint: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM registration WHERE fingerprint = $1").bind_text(fingerprint).execute(tx).await? == 1)
}

fn read(row: &RowReader<'_>) -> Result<Registration, DecodeError> {
    let facts = match row.text("facts")?.as_str() {
        "{}" => domain::cluster::ClusterFacts::default(),
        _ => row.json("facts")?,
    };
    Ok(Registration {
        fingerprint: row.text("fingerprint")?,
        token: row.parse("token_id")?,
        name: row.text("name")?,
        state: row.enum_value::<RegistrationState>("state")?,
        facts,
        labels: row.json("labels")?,
        requested_at: row.timestamp("requested_at")?,
        decided_by: row.get("decided_by")?,
        cluster: row.opt_parse("cluster_id")?,
    })
}
