//! Sends messages about incidents when they are written, and again when their pause after a failure ends.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::Hub;

/// Minimum pause between two passes: what changes in between is handled in one.
const MIN_PAUSE: Duration = Duration::from_millis(50);
/// Poll interval of the queue without a signal: what is due is so by time.
const POLL_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut failed_passes = PassFailures::new("deliveries");
    while !cancel.is_cancelled() {
        let done = hub.send_due_deliveries().await;
        let pause = failed_passes.record(&hub, &done);
        if let Some(pause) = pause.or_else(|| done.is_ok_and(|n| n > 0).then_some(MIN_PAUSE)) {
            sleep_unless_cancelled(pause, &cancel).await;
            continue;
        }
        tokio::select! {
            () = hub.signals().deliveries.notified() => drop(sleep_unless_cancelled(MIN_PAUSE, &cancel).await),
            () = tokio::time::sleep(jitter(POLL_EVERY)) => {}
            () = cancel.cancelled() => return,
        }
    }
}
