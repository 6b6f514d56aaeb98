//! Registrations: keys that asked to join, and what became of them.

use domain::join::{Registration, RegistrationState};
use domain::{ClusterId, Timestamp};

use crate::record::{Record, Why, all, one};
use crate::sql::{json, sql};
use crate::{Error, Tx};

const SELECT: &str = "SELECT fingerprint, token_id, name, state, facts, labels, since, decided_by, cluster_id \
     FROM registration ";
/// Registrations listed at most, oldest first.
const LISTED: i64 = 500;

/// Writes a registration with its certificate request, in place of an earlier one of the same key.
/// [`Error::Unique`] if another key waits under the same name.
pub async fn save(tx: &mut Tx, registration: &Registration, csr: &str) -> Result<(), Error> {
    sql("INSERT INTO registration (fingerprint, token_id, name, state, csr, facts, labels, since, decided_by, \
         cluster_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (fingerprint) DO UPDATE SET token_id = excluded.token_id, name = excluded.name, \
         state = excluded.state, csr = excluded.csr, facts = excluded.facts, labels = excluded.labels, \
         since = excluded.since, decided_by = excluded.decided_by, cluster_id = excluded.cluster_id")
    .text(&registration.fingerprint)
    .text(registration.token)
    .text(&registration.name)
    .text(registration.state.word())
    .text(csr)
    .bind(json(&registration.facts)?)
    .bind(json(&registration.labels)?)
    .bind(registration.since.millis())
    .opt_text(registration.decided_by.as_deref())
    .opt_text(registration.cluster)
    .run(tx)
    .await
    .map(drop)
}

/// The registration of this key; the row is kept for the transaction.
pub async fn by_fingerprint(tx: &mut Tx, fingerprint: &str) -> Result<Option<Registration>, Error> {
    let row = sql(SELECT).push("WHERE fingerprint = $1").text(fingerprint).locking(tx).row(tx).await?;
    one(row, "registration", read)
}

/// The one that waits under this name; the row is kept for the transaction.
pub async fn pending(tx: &mut Tx, name: &str) -> Result<Option<Registration>, Error> {
    let row =
        sql(SELECT).push("WHERE name = $1 AND state = 'pending'").text(name).locking(tx).row(tx).await?;
    one(row, "registration", read)
}

/// Every registration that was not accepted, oldest first, at most 500.
pub async fn open(tx: &mut Tx) -> Result<Vec<Registration>, Error> {
    let rows =
        sql(SELECT).push("WHERE state <> 'accepted' ORDER BY since, fingerprint LIMIT $1").bind(LISTED);
    Ok(all(&rows.rows(tx).await?, "registration", read))
}

/// How many wait for a person.
pub async fn count_pending(tx: &mut Tx) -> Result<i64, Error> {
    sql("SELECT COUNT(*) FROM registration WHERE state = 'pending'").number(tx).await
}

/// Writes a decision; says whether the registration was there.
pub async fn decide(tx: &mut Tx, registration: &Registration, at: Timestamp) -> Result<bool, Error> {
    let decide = "UPDATE registration SET state = $1, decided_by = $2, decided_at = $3, cluster_id = $4 \
                  WHERE fingerprint = $5";
    let changed = sql(decide)
        .text(registration.state.word())
        .opt_text(registration.decided_by.as_deref())
        .bind(at.millis())
        .opt_text(registration.cluster)
        .text(&registration.fingerprint)
        .run(tx)
        .await?;
    Ok(changed == 1)
}

/// The keys of this cluster may not register again with their old tokens.
pub async fn reject_of_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<(), Error> {
    let reject = "UPDATE registration SET state = 'rejected' WHERE cluster_id = $1 AND state = 'accepted'";
    sql(reject).text(cluster).run(tx).await.map(drop)
}

/// Forgets one; says whether it was there.
pub async fn delete(tx: &mut Tx, fingerprint: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM registration WHERE fingerprint = $1").text(fingerprint).run(tx).await? == 1)
}

/// Forgets those that were refused, or waited in vain, since before `before`; returns how many.
pub async fn delete_before(tx: &mut Tx, before: Timestamp) -> Result<u64, Error> {
    let delete = "DELETE FROM registration WHERE state <> 'accepted' AND since < $1";
    sql(delete).bind(before.millis()).run(tx).await
}

fn read(row: &Record<'_>) -> Result<Registration, Why> {
    let facts = match row.text("facts")?.as_str() {
        "{}" => domain::cluster::ClusterFacts::default(),
        _ => row.json("facts")?,
    };
    Ok(Registration {
        fingerprint: row.text("fingerprint")?,
        token: row.parse("token_id")?,
        name: row.text("name")?,
        state: row.word::<RegistrationState>("state")?,
        facts,
        labels: row.json("labels")?,
        since: row.at("since")?,
        decided_by: row.get("decided_by")?,
        cluster: row.opt_parse("cluster_id")?,
    })
}
