//! Checks the refs of Git repositories that workloads follow, when they are due or a repository reported a push.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::Hub;

/// Poll interval of the table of refs without a signal.
const POLL_EVERY: Duration = Duration::from_secs(2);
/// Refs checked in one pass.
const BATCH: u32 = 16;

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut failed_passes = PassFailures::new("git");
    while !cancel.is_cancelled() {
        let checked = hub.check_due_git_refs(BATCH).await;
        if let Some(pause) = failed_passes.record(&hub, &checked) {
            sleep_unless_cancelled(pause, &cancel).await;
            continue;
        }
        tokio::select! {
            () = hub.signals().git.notified() => {}
            () = tokio::time::sleep(jitter(POLL_EVERY)) => {}
            () = cancel.cancelled() => return,
        }
    }
}
