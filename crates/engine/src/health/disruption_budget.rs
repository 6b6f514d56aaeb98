//! Pod disruption budgets (`health.md` C.1).

use domain::health::Health;

use super::view::View;
use super::{MINUTE, degraded, healthy, progressing};

/// Too few healthy pods for so long is a failure.
const GRACE: i64 = 10 * MINUTE;

pub(super) fn assess(view: &View<'_>) -> Health {
    let (current, desired) = (view.int("/status/currentHealthy"), view.int("/status/desiredHealthy"));
    if view.has("/status") && current >= desired {
        let none_allowed = view.int("/status/disruptionsAllowed") == 0;
        return healthy(if none_allowed { "allows no disruption now" } else { "" });
    }
    let message = format!("{current} healthy pods of {desired} desired");
    let since = view
        .condition("DisruptionAllowed")
        .and_then(|condition| condition.since)
        .or_else(|| view.instant("/metadata/creationTimestamp"));
    match since {
        Some(since) if view.now.since(since) >= GRACE => degraded("InsufficientPods", message),
        _ => progressing("InsufficientPods", message),
    }
}
