//! Pod disruption budgets.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{MINUTE_MILLIS, degraded, healthy, progressing};

/// Too few healthy pods for this time is degraded, in milliseconds.
const GRACE: i64 = 10 * MINUTE_MILLIS;

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    // A new one has zeros before its controller has counted.
    if !view.has("/status/observedGeneration") && view.condition("DisruptionAllowed").is_none() {
        return progressing("StatusNotReportedYet", "waiting for its first status");
    }
    let (current, desired) = (view.int("/status/currentHealthy"), view.int("/status/desiredHealthy"));
    if current >= desired {
        let none_allowed = view.int("/status/disruptionsAllowed") == 0;
        return healthy(if none_allowed { "allows no disruption now" } else { "" });
    }
    // Of a workload with no replicas there is nothing to keep available, whatever `minAvailable` is.
    if view.has("/status/expectedPods") && view.int("/status/expectedPods") == 0 {
        return healthy("covers no pods");
    }
    let message = format!("{current} healthy pods of {desired} desired");
    let since = view
        .condition("DisruptionAllowed")
        .and_then(|condition| condition.since)
        .or_else(|| view.timestamp("/metadata/creationTimestamp"));
    match since {
        Some(since) if view.now.millis_since(since) >= GRACE => degraded("InsufficientPods", message),
        _ => progressing("InsufficientPods", message),
    }
}
