//! Leases for work that only one server may do at a time, fenced by an epoch (P9).
//!
//! The holder calls [`renew`] in the transaction that writes the result: if it returns false, another server has
//! acquired the lease, and the transaction must not be committed.

use domain::Timestamp;

use crate::sql::sql;
use crate::{Error, Tx};

/// Acquires a lease that is free at `now`; every acquisition increments the epoch. `None` while another holder holds
/// it. The holder may acquire it again, with a new epoch.
pub async fn acquire(
    tx: &mut Tx,
    name: &str,
    holder: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<i64>, Error> {
    let epoch = sql("INSERT INTO lease (name, holder, epoch, expires_at) VALUES ($1, $2, 1, $3) \
                     ON CONFLICT (name) DO UPDATE SET holder = $2, epoch = lease.epoch + 1, expires_at = $3 \
                     WHERE lease.expires_at <= $4 OR lease.holder = $2 RETURNING epoch")
    .bind_text(name)
    .bind_text(holder)
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
    holder: &str,
    epoch: i64,
    until: Timestamp,
) -> Result<bool, Error> {
    let renew = "UPDATE lease SET expires_at = $1 WHERE name = $2 AND holder = $3 AND epoch = $4";
    Ok(sql(renew).bind(until.millis()).bind_text(name).bind_text(holder).bind(epoch).execute(tx).await? == 1)
}

/// Releases a lease; false if it was lost before.
pub async fn release(tx: &mut Tx, name: &str, holder: &str, epoch: i64) -> Result<bool, Error> {
    let end =
        "UPDATE lease SET expires_at = 0 WHERE name = $1 AND holder = $2 AND epoch = $3 AND expires_at > 0";
    Ok(sql(end).bind_text(name).bind_text(holder).bind(epoch).execute(tx).await? == 1)
}
