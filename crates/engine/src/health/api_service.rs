//! Aggregated API services (`health.md` C.1).

use domain::health::Health;

use super::view::View;
use super::{MINUTE, degraded, healthy, progressing};

/// Not available for so long is a failure.
const GRACE: i64 = 5 * MINUTE;

pub(super) fn assess(view: &View<'_>) -> Health {
    let Some(available) = view.condition("Available") else {
        return progressing("WaitingToBeProcessed", "Waiting to be processed");
    };
    let message = format!("{}: {}", available.reason, available.message);
    if available.is_true() {
        return healthy(message);
    }
    let since = available.since.or_else(|| view.instant("/metadata/creationTimestamp"));
    match since {
        Some(since) if view.now.since(since) >= GRACE => {
            degraded(available.reason_or("ServiceNotAvailable"), message)
        }
        _ => progressing(available.reason_or("ServiceNotAvailable"), message),
    }
}
