//! Checks the refs of Git repositories that workloads follow, when they are due or a repository reported a push.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::git::RefChecks;
use crate::{Error, Hub};

/// Poll interval of the table of refs without a signal.
const POLL_EVERY: Duration = Duration::from_secs(2);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut failed_passes = PassFailures::new("git");
    let mut checks = RefChecks::default();
    while !cancel.is_cancelled() {
        let mut pass = checks.start_due(&hub).await;
        if pass.is_ok() {
            pass = wait_for_next_pass(&hub, &mut checks, &cancel).await;
        }
        if let Some(pause) = failed_passes.record(&hub, &pass) {
            sleep_unless_cancelled(pause, &cancel).await;
        }
    }
    // A check that has begun may publish: it is not cut off.
    while checks.join_next().await.is_some() {}
}

/// Waits until refs may be due, whatever checks still run.
///
/// # Errors
/// A check ended with an outage of the database.
async fn wait_for_next_pass(
    hub: &Hub,
    checks: &mut RefChecks,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    let pause = tokio::time::sleep(jitter(POLL_EVERY));
    tokio::pin!(pause);
    loop {
        tokio::select! {
            () = hub.signals().git.notified() => return Ok(()),
            () = &mut pause => return Ok(()),
            Some(ended) = checks.join_next() => ended?,
            () = cancel.cancelled() => return Ok(()),
        }
    }
}
