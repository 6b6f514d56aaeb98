//! The tail: writes of other servers on the same database wake this server's loops, agents and pages.
//!
//! NOTIFY is only a signal; positions and versions are read from the tables. A slow poll covers a lost connection.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::{jitter, sleep_unless_cancelled};
use crate::{Error, Hub};

/// Poll interval of the tables without a notice.
const POLL_EVERY: Duration = Duration::from_secs(3);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    if !hub.store().is_postgres() {
        // This process is the only writer and sends its own notices.
        cancel.cancelled().await;
        return;
    }
    while !cancel.is_cancelled() {
        match hub.store().listen().await {
            Ok(Some(mut notices)) => loop {
                tokio::select! {
                    notice = notices.next() => if notice.is_none() { break },
                    () = tokio::time::sleep(jitter(POLL_EVERY)) => {}
                    () = cancel.cancelled() => return,
                }
                send_notices(&hub).await;
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "can't listen for database notifications; polling instead"),
        }
        send_notices(&hub).await;
        if !sleep_unless_cancelled(jitter(POLL_EVERY), &cancel).await {
            return;
        }
    }
}

async fn send_notices(hub: &Hub) {
    if let Err(error) = hub.sync_clock().await {
        tracing::warn!(%error, "can't read the database's clock");
    }
    match last_event_seq(hub).await {
        Ok(seq) => hub.live().notify_event(seq),
        Err(error) => tracing::warn!(%error, "can't read the event log"),
    }
    hub.live().notify_all_desired_states();
    hub.live().notify_plan();
    hub.signals().placer.notify_one();
    hub.signals().rollouts.notify_one();
}

async fn last_event_seq(hub: &Hub) -> Result<i64, Error> {
    let mut tx = hub.read().await?;
    Ok(store::event::last_seq(&mut tx).await?)
}
