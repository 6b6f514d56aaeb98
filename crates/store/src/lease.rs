//! Leases for work that only one server may do at a time, fenced by an epoch (P9).
//!
//! The holder calls [`renew`] in the transaction that writes the result: if it returns false, another server has
//! acquired the lease, and the transaction must not be committed.

use domain::Timestamp;

use crate::sql::sql;
use crate::{Error, Tx};

/// Acquires a lease that is free at `now`; every acquisition increments the epoch. `None` while another owner holds
/// it. The holder may acquire it again, with a new epoch.
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
    .bind_text(name)
    .bind_text(owner)
    .bind(until.millis())
    .bind(now.millis())
    .fetch_number(tx)
    .await?;
    Ok((epoch > 0).then_some(epoch))
}

/// Extends a lease; false if it is lost. The row stays locked until the transaction ends.
pub async fn renew(
    tx: &mut Tx,
    name: &str,
    owner: &str,
    epoch: i64,
    until: Timestamp,
) -> Result<bool, Error> {
    let renew = "UPDATE lease SET ends_at = $1 WHERE name = $2 AND owner = $3 AND epoch = $4";
    Ok(sql(renew).bind(until.millis()).bind_text(name).bind_text(owner).bind(epoch).execute(tx).await? == 1)
}

/// Releases a lease; false if it was lost before.
pub async fn release(tx: &mut Tx, name: &str, owner: &str, epoch: i64) -> Result<bool, Error> {
    let end = "UPDATE lease SET ends_at = 0 WHERE name = $1 AND owner = $2 AND epoch = $3 AND ends_at > 0";
    Ok(sql(end).bind_text(name).bind_text(owner).bind(epoch).execute(tx).await? == 1)
}
