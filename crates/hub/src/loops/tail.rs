//! The tail: writes of other servers on the same database wake this server's loops, agents and pages.
//!
//! NOTIFY is only a signal; positions and versions are read from the tables. A slow poll covers a lost connection.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::{Error, Hub};

/// Poll interval of the tables without a notice.
const POLL_EVERY: Duration = Duration::from_secs(3);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    if !hub.store().is_postgres() {
        // This process is the only writer and sends its own notices.
        cancel.cancelled().await;
        return;
    }
    let (mut failed_listens, mut failed_passes) = (PassFailures::new("tail"), PassFailures::new("tail"));
    while !cancel.is_cancelled() {
        let listening = hub.store().listen().await.map_err(Error::from);
        // Without notifications the tables are polled, no less often than with them.
        failed_listens.record(&hub, &listening);
        let mut pause = failed_passes.record(&hub, &send_notices(&hub).await);
        let Ok(Some(mut notices)) = listening else {
            sleep_unless_cancelled(pause.unwrap_or_else(|| jitter(POLL_EVERY)), &cancel).await;
            continue;
        };
        loop {
            tokio::select! {
                notice = notices.next(), if pause.is_none() => if notice.is_none() { break },
                () = tokio::time::sleep(pause.unwrap_or_else(|| jitter(POLL_EVERY))) => {}
                () = cancel.cancelled() => return,
            }
            pause = failed_passes.record(&hub, &send_notices(&hub).await);
        }
    }
}

/// Tells loops, agents and pages of this server that something may have changed.
async fn send_notices(hub: &Hub) -> Result<(), Error> {
    hub.sync_clock().await?;
    hub.live().notify_event(last_event_seq(hub).await?);
    hub.live().notify_all_desired_states();
    hub.live().notify_answer();
    hub.signals().placer.notify_one();
    hub.signals().rollouts.notify_one();
    Ok(())
}

async fn last_event_seq(hub: &Hub) -> Result<i64, Error> {
    let mut tx = hub.read().await?;
    Ok(store::event::last_seq(&mut tx).await?)
}
