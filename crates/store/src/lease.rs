//! Leases on what only one server may do at a time, fenced by an epoch (P9).
//!
//! Who acts under a lease calls [`renew`] in the transaction that writes the result: if it says false, somebody else has
//! taken over, and the result is not to be committed.

use domain::Timestamp;

use crate::sql::sql;
use crate::{Error, Tx};

/// Takes a lease that nobody holds at `now`; the epoch grows with every taking. `None` while somebody else holds it.
/// Its holder may take it again, and gets a new epoch.
pub async fn acquire(
    tx: &mut Tx,
    name: &str,
    owner: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<i64>, Error> {
    let epoch = sql("INSERT INTO lease (name, owner, epoch, ends_at) VALUES ($1, $2, 1, $3) \
                     ON CONFLICT (name) DO UPDATE SET owner = $2, epoch = lease.epoch + 1, ends_at = $3 \
                     WHERE lease.ends_at <= $4 OR lease.owner = $2 RETURNING epoch")
    .text(name)
    .text(owner)
    .bind(until.millis())
    .bind(now.millis())
    .number(tx)
    .await?;
    Ok((epoch > 0).then_some(epoch))
}

/// Holds a lease until later; false if it is lost. The row stays locked until the transaction ends.
pub async fn renew(
    tx: &mut Tx,
    name: &str,
    owner: &str,
    epoch: i64,
    until: Timestamp,
) -> Result<bool, Error> {
    let renew = "UPDATE lease SET ends_at = $1 WHERE name = $2 AND owner = $3 AND epoch = $4";
    Ok(sql(renew).bind(until.millis()).text(name).text(owner).bind(epoch).run(tx).await? == 1)
}

/// Gives a lease back; false if it was lost before.
pub async fn release(tx: &mut Tx, name: &str, owner: &str, epoch: i64) -> Result<bool, Error> {
    let end = "UPDATE lease SET ends_at = 0 WHERE name = $1 AND owner = $2 AND epoch = $3 AND ends_at > 0";
    Ok(sql(end).text(name).text(owner).bind(epoch).run(tx).await? == 1)
}
