//! The tail: what other servers on the same database write wakes the same waiters here.
//!
//! NOTIFY only wakes; positions and versions are read from the tables. A slow poll covers a lost connection.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::{jittered, pause};
use crate::{Error, Hub};

/// How often the tables are looked at when no notice comes.
const EVERY: Duration = Duration::from_secs(3);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    if !hub.store().is_postgres() {
        // The only writer is this process, and it has told everybody already.
        cancel.cancelled().await;
        return;
    }
    while !cancel.is_cancelled() {
        match hub.store().listen().await {
            Ok(Some(mut notices)) => loop {
                tokio::select! {
                    notice = notices.next() => if notice.is_none() { break },
                    () = tokio::time::sleep(jittered(EVERY)) => {}
                    () = cancel.cancelled() => return,
                }
                look(&hub).await;
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "can't listen to the database; polling"),
        }
        look(&hub).await;
        if !pause(jittered(EVERY), &cancel).await {
            return;
        }
    }
}

async fn look(hub: &Hub) {
    if let Err(error) = hub.set_clock().await {
        tracing::warn!(%error, "can't read the database's clock");
    }
    match newest(hub).await {
        Ok(seq) => hub.live().event(seq),
        Err(error) => tracing::warn!(%error, "can't read the event log"),
    }
    hub.live().all_wants();
    hub.live().plan();
    hub.activators().placer.notify_one();
    hub.activators().rollouts.notify_one();
}

async fn newest(hub: &Hub) -> Result<i64, Error> {
    let mut tx = hub.read().await?;
    Ok(store::event::last_seq(&mut tx).await?)
}
