//! Aggregated API services.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{MINUTE_MILLIS, degraded, healthy, progressing};

/// Unavailable for this time is degraded, in milliseconds.
const GRACE: i64 = 5 * MINUTE_MILLIS;

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    let Some(available) = view.condition("Available") else {
        return progressing("WaitingToBeProcessed", "Waiting to be processed");
    };
    let message = format!("{}: {}", available.reason, available.message);
    if available.is_true() {
        return healthy(message);
    }
    let since = available.since.or_else(|| view.timestamp("/metadata/creationTimestamp"));
    match since {
        Some(since) if view.now.millis_since(since) >= GRACE => {
            degraded(available.reason_or("ServiceNotAvailable"), message)
        }
        _ => progressing(available.reason_or("ServiceNotAvailable"), message),
    }
}
