//! Registrations: public keys of agents that requested to join, and the decisions on them.

use domain::join::{Registration, RegistrationState};
use domain::{ClusterId, Timestamp};

use crate::decode::{decode_readable_rows, decode_row};
use crate::sql::{Sql, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// A registration with its certificate request.
struct RegistrationRow<'r> {
    registration: &'r Registration,
    csr: &'r str,
}

table_row! {
    RegistrationRow<'_> as row in "registration" => Registration;
    Key fingerprint = &row.registration.fingerprint => fingerprint: text;
    Mutable token_id = row.registration.token.to_string() => token: parse;
    Mutable name = &row.registration.name => name: text;
    Mutable state = row.registration.state.as_str() => state: enum_value;
    Mutable csr = row.csr;
    Mutable facts = to_json(&row.registration.facts)? => facts: json_or_default;
    Mutable labels = to_json(&row.registration.labels)? => labels: json;
    Mutable requested_at = row.registration.requested_at => requested_at: timestamp;
    Mutable decided_by = row.registration.decided_by.clone() => decided_by: get;
    Mutable cluster_id = row.registration.cluster.map(|id| id.to_string()) => cluster: opt_parse;
}

fn select() -> Sql {
    table::select_from::<RegistrationRow<'_>>().push(" ")
}

/// Maximum number of listed registrations, oldest first.
const LIST_MAX: i64 = 500;

/// Writes a registration with its certificate request, replacing an earlier one of the same key. [`Error::AlreadyExists`] if
/// another key is pending under the same name.
pub async fn save(tx: &mut Tx, registration: &Registration, csr: &str) -> Result<(), Error> {
    table::insert_or_update(tx, &[RegistrationRow { registration, csr }])?.execute(tx).await.map(drop)
}

/// The registration of this key; the row is locked until the transaction ends.
pub async fn get_by_fingerprint(tx: &mut Tx, fingerprint: &str) -> Result<Option<Registration>, Error> {
    let row = select()
        .push("WHERE fingerprint = $1")
        .bind_text(fingerprint)
        .push_locking_clause(tx)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "registration", read_row)
}

/// The pending registration with this name; the row is locked until the transaction ends.
pub async fn get_pending(tx: &mut Tx, name: &str) -> Result<Option<Registration>, Error> {
    let row = select()
        .push("WHERE name = $1 AND state = 'pending'")
        .bind_text(name)
        .push_locking_clause(tx)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "registration", read_row)
}

/// The state of the registration of this key.
pub async fn get_state(tx: &mut Tx, fingerprint: &str) -> Result<Option<RegistrationState>, Error> {
    let row =
        sql("SELECT fingerprint, state FROM registration WHERE fingerprint = $1").bind_text(fingerprint);
    decode_row(row.fetch_optional(tx).await?, "registration", |row| row.enum_value("state"))
}

/// The registration of this name that is pending, otherwise the newest, with the time of its decision.
pub async fn find_latest(
    tx: &mut Tx,
    name: &str,
) -> Result<Option<(Registration, Option<Timestamp>)>, Error> {
    let row = table::select::<RegistrationRow<'_>>("r")
        .push(", r.decided_at FROM registration r ")
        .push("WHERE name = $1 ORDER BY CASE WHEN state = 'pending' THEN 0 ELSE 1 END, requested_at DESC, fingerprint LIMIT 1")
        .bind_text(name)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "registration", |row| Ok((read_row(row)?, row.opt_timestamp("decided_at")?)))
}

/// The newest registration of this cluster, with the time of its decision.
pub async fn find_newest_by_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
) -> Result<Option<(Registration, Option<Timestamp>)>, Error> {
    let row = table::select::<RegistrationRow<'_>>("r")
        .push(", r.decided_at FROM registration r ")
        .push("WHERE cluster_id = $1 ORDER BY requested_at DESC, fingerprint LIMIT 1")
        .bind_text(cluster)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "registration", |row| Ok((read_row(row)?, row.opt_timestamp("decided_at")?)))
}

/// Every registration that was not accepted, oldest first, at most 500.
pub async fn list_not_accepted(tx: &mut Tx) -> Result<Vec<Registration>, Error> {
    let rows =
        select().push("WHERE state <> 'accepted' ORDER BY requested_at, fingerprint LIMIT $1").bind(LIST_MAX);
    Ok(decode_readable_rows(&rows.fetch_all(tx).await?, "registration", read_row))
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

/// Locks the registrations of this cluster until the transaction ends: before its heartbeat and its certificates, and before its deletion,
/// which deletes them.
pub async fn lock_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<(), Error> {
    if tx.is_postgres() {
        let select = sql("SELECT fingerprint FROM registration WHERE cluster_id = $1 ORDER BY fingerprint");
        select.bind_text(cluster).push_locking_clause(tx).fetch_all(tx).await?;
    }
    Ok(())
}

/// Rejects the accepted keys of this cluster, so that they cannot register again with their old tokens.
pub async fn reject_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<(), Error> {
    lock_by_cluster(tx, cluster).await?;
    let reject = "UPDATE registration SET state = 'rejected' WHERE cluster_id = $1 AND state = 'accepted'";
    sql(reject).bind_text(cluster).execute(tx).await.map(drop)
}

/// Deletes a registration; returns whether it existed.
pub async fn delete(tx: &mut Tx, fingerprint: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM registration WHERE fingerprint = $1").bind_text(fingerprint).execute(tx).await? == 1)
}
