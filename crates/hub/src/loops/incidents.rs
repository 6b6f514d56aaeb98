//! Opens, grows and closes incidents of workloads that changed, or whose causes have lasted long enough.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::{Error, Hub};

/// Minimum pause between two passes: what changes in between is handled in one.
const MIN_PAUSE: Duration = Duration::from_millis(500);
/// Poll interval of the queue without a signal: what is due is so by time.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Interval of the full pass over all workloads that may have an incident, marked or not: the safety net. The first one is at the start, so
/// that causes from before an upgrade are found.
const FULL_PASS_EVERY: Duration = Duration::from_secs(300);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut full_pass = tokio::time::interval(jitter(FULL_PASS_EVERY));
    let mut failed_passes = PassFailures::new("incidents");
    while !cancel.is_cancelled() {
        let done = hub.advance_due_incidents().await;
        let pause = failed_passes.record(&hub, &done);
        if let Some(pause) = pause.or_else(|| done.is_ok_and(|n| n > 0).then_some(MIN_PAUSE)) {
            sleep_unless_cancelled(pause, &cancel).await;
            continue;
        }
        tokio::select! {
            () = hub.signals().incidents.notified() => drop(sleep_unless_cancelled(MIN_PAUSE, &cancel).await),
            () = tokio::time::sleep(jitter(POLL_EVERY)) => {}
            _ = full_pass.tick() => {
                if let Err(error) = mark_everything(&hub).await {
                    tracing::warn!(%error, "could not mark everything for a full pass over incidents");
                }
            }
            () = cancel.cancelled() => return,
        }
    }
}

async fn mark_everything(hub: &Hub) -> Result<(), Error> {
    let mut tx = hub.write().await?;
    store::queue::INCIDENTS.mark_all(&mut tx, hub.clock().now()).await?;
    tx.commit().await?;
    Ok(())
}
