//! Horizontal pod autoscalers, v1 and v2.

use domain::health::Health;
use serde_json::Value;

use super::object_view::{ObjectView, StatusCondition, conditions};
use super::{MINUTE_MILLIS, degraded, healthy, progressing};

/// Metrics are missing at first and after a restart of their server; a failure counts only after this time, in milliseconds.
const GRACE: i64 = 5 * MINUTE_MILLIS;

/// Condition types with the reasons that are failures.
const FAILURES: [(&str, &str); 8] = [
    ("AbleToScale", "FailedGetScale"),
    ("AbleToScale", "FailedUpdateScale"),
    ("ScalingActive", "FailedGetResourceMetric"),
    ("ScalingActive", "FailedGetObjectMetric"),
    ("ScalingActive", "FailedGetPodsMetric"),
    ("ScalingActive", "FailedGetExternalMetric"),
    ("ScalingActive", "FailedComputeMetricsReplicas"),
    ("ScalingActive", "InvalidSelector"),
];

/// Whether the condition changed or the object was created within the grace period.
fn is_recent(view: &ObjectView<'_>, condition: &StatusCondition<'_>) -> bool {
    let changed = condition.since.map(|since| view.now.millis_since(since));
    view.age() < GRACE || changed.is_some_and(|elapsed| elapsed < GRACE)
}

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    // `autoscaling/v1` has no condition list; it stores them as JSON in an annotation.
    let annotation = view.text("/metadata/annotations/autoscaling.alpha.kubernetes.io~1conditions");
    let parsed: Value = serde_json::from_str(annotation).unwrap_or_default();
    let from_annotation = conditions(parsed.as_array().map_or(&[][..], Vec::as_slice));
    let all: Vec<StatusCondition<'_>> = view.conditions().chain(from_annotation).collect();
    let failed = all.iter().find(|condition| FAILURES.contains(&(condition.kind, condition.reason)));
    match failed {
        Some(failed) if is_recent(view, failed) => return progressing(failed.reason, failed.message),
        Some(failed) => return degraded(failed.reason, failed.message),
        None => {}
    }
    let scales = |condition: &StatusCondition<'_>| {
        matches!(condition.kind, "AbleToScale" | "ScalingLimited") && condition.is_true()
    };
    if all.iter().any(scales) {
        return healthy("");
    }
    progressing("WaitingToAutoscale", "Waiting to Autoscale")
}
