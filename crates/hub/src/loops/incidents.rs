//! Opens, grows and closes incidents of workloads that changed, or whose causes have lasted long enough.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::Hub;

/// Minimum pause between two passes: what changes in between is handled in one.
const MIN_PAUSE: Duration = Duration::from_millis(500);
/// Poll interval of the queue without a signal: what is due is so by time.
const POLL_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
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
            () = cancel.cancelled() => return,
        }
    }
}
