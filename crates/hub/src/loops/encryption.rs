//! Encryption: reads new data keys, switches encryption on after an upgrade, and encrypts existing values in batches, also after a
//! rotation. The progress is in the database, so it continues after a restart and on another server.

use std::time::Duration;

use store::{BatchOutcome, EncryptionMode};
use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::{Error, Hub};

/// Interval at which keys are read again. A new key is used a minute after its creation.
const CHECK_EVERY: Duration = Duration::from_secs(10);
/// Pause between two batches, which leaves the database to others.
const BATCH_PAUSE: Duration = Duration::from_millis(20);
/// How often in a row no client of an earlier release was connected before encryption is switched on.
const CHECKS_WITHOUT_EARLIER_CLIENTS: u32 = 6;

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut failed_passes = PassFailures::new("encryption");
    let (mut pause, mut quiet_checks) = (jitter(BATCH_PAUSE), 0);
    loop {
        tokio::select! {
            slept = sleep_unless_cancelled(pause, &cancel) => if !slept { return },
            () = hub.store().wait_for_missing_key() => {}
        }
        let passed = run_pass(&hub, &mut quiet_checks).await;
        let next = match &passed {
            Ok(BatchOutcome::Idle) | Err(_) => jitter(CHECK_EVERY),
            Ok(BatchOutcome::Progress | BatchOutcome::AllEncrypted) => BATCH_PAUSE,
        };
        pause = failed_passes.record(&hub, &passed.map(drop)).unwrap_or(next);
    }
}

async fn run_pass(hub: &Hub, quiet_checks: &mut u32) -> Result<BatchOutcome, Error> {
    let (store, now) = (hub.store(), hub.clock().now());
    store.reload_keys(now).await?;
    if store.encryption_mode() == EncryptionMode::Waiting {
        let clients = store.count_earlier_clients().await?;
        *quiet_checks = if clients == 0 { *quiet_checks + 1 } else { 0 };
        if *quiet_checks < CHECKS_WITHOUT_EARLIER_CLIENTS {
            tracing::info!(clients, "encryption waits for servers of an earlier release to stop");
            return Ok(BatchOutcome::Idle);
        }
        store.switch_encryption_on(now).await?;
        tracing::info!("encryption was switched on; existing values are encrypted now");
    }
    let outcome = store.reencrypt_batch(now).await?;
    if outcome == BatchOutcome::AllEncrypted {
        store.complete_encryption(now).await?;
        tracing::info!("all values are encrypted");
    }
    Ok(outcome)
}
