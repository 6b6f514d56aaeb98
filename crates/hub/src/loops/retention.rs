//! Retention: what nobody needs any more is deleted, in one place.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{jittered, pause};
use crate::{Error, Hub};

const EVERY: Duration = Duration::from_secs(3600);
/// Events are kept this long, in milliseconds: 90 days.
const EVENTS_MILLIS: i64 = 90 * 86_400_000;
/// Answers under an idempotency key are kept this long, in milliseconds: a day.
const ANSWERS_MILLIS: i64 = 86_400_000;
/// Join tokens, refused registrations and certificates are kept this long after their end, in milliseconds: 30 days.
const JOINING_MILLIS: i64 = 30 * 86_400_000;

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    loop {
        if let Err(error) = pass(&hub).await {
            tracing::warn!(%error, "retention pass failed; it is repeated");
        }
        if !pause(jittered(EVERY), &cancel).await {
            return;
        }
    }
}

async fn pass(hub: &Hub) -> Result<(), Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    store::event::delete_before(&mut tx, now.plus_millis(-EVENTS_MILLIS)).await?;
    store::idempotency::delete_before(&mut tx, now.plus_millis(-ANSWERS_MILLIS)).await?;
    let refused = now.plus_millis(-JOINING_MILLIS);
    store::join_token::delete_before(&mut tx, refused).await?;
    store::registration::delete_before(&mut tx, refused).await?;
    store::identity::delete_before(&mut tx, refused).await?;
    store::plan::delete_expired(&mut tx, now).await?;
    store::session::delete_expired(&mut tx, now).await?;
    store::artifact::delete_unreferenced(&mut tx, now).await?;
    tx.commit().await?;
    Ok(())
}
