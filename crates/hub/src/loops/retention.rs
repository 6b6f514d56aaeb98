//! Retention: deletes expired rows of every table, in one place.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{jitter, sleep_unless_cancelled};
use crate::{Error, Hub};

const RUN_EVERY: Duration = Duration::from_secs(3600);
/// Retention of events, in milliseconds: 90 days.
const EVENTS_MILLIS: i64 = 90 * 86_400_000;
/// Retention of responses under an idempotency key, in milliseconds: one day.
const RESPONSES_MILLIS: i64 = 86_400_000;
/// Retention of tombstones, in milliseconds: a year. What a cluster still has to remove after that, it keeps.
const TOMBSTONES_MILLIS: i64 = 365 * 86_400_000;
/// Retention of join tokens, rejected registrations and certificates after their end, in milliseconds: 30 days.
const JOINING_MILLIS: i64 = 30 * 86_400_000;

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    loop {
        if let Err(error) = run_pass(&hub).await {
            tracing::warn!(%error, "retention pass failed; it is repeated");
        }
        if !sleep_unless_cancelled(jitter(RUN_EVERY), &cancel).await {
            return;
        }
    }
}

async fn run_pass(hub: &Hub) -> Result<(), Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    store::event::delete_before(&mut tx, now.plus_millis(-EVENTS_MILLIS)).await?;
    store::idempotency::delete_before(&mut tx, now.plus_millis(-RESPONSES_MILLIS)).await?;
    let joining = now.plus_millis(-JOINING_MILLIS);
    store::join_token::delete_before(&mut tx, joining).await?;
    store::registration::delete_before(&mut tx, joining).await?;
    store::certificate::delete_before(&mut tx, joining).await?;
    store::tombstone::delete_before(&mut tx, now.plus_millis(-TOMBSTONES_MILLIS)).await?;
    store::plan::delete_expired(&mut tx, now).await?;
    store::session::delete_expired(&mut tx, now).await?;
    store::artifact::delete_unreferenced(&mut tx, now).await?;
    tx.commit().await?;
    Ok(())
}
