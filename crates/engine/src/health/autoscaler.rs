//! Horizontal pod autoscalers, v1 and v2 (`health.md` C.1).

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::view::{Condition, View, conditions};
use super::{MINUTE, degraded, healthy, progressing};

/// Metrics are missing at first; before this age that is no failure.
const GRACE: i64 = 5 * MINUTE;

/// Reasons of failure, by condition.
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

pub(super) fn assess(view: &View<'_>) -> Health {
    // Version 1 has no conditions of its own and keeps them in an annotation, as text.
    let annotation = view.text("/metadata/annotations/autoscaling.alpha.kubernetes.io~1conditions");
    let kept: Value = serde_json::from_str(annotation).unwrap_or_default();
    let from_annotation = conditions(kept.as_array().map_or(&[][..], Vec::as_slice));
    let all: Vec<Condition<'_>> = view.conditions().chain(from_annotation).collect();
    let failed = all.iter().find(|condition| FAILURES.contains(&(condition.kind, condition.reason)));
    match failed {
        Some(failed) if view.age() < GRACE => {
            return Health::new(HealthStatus::Progressing, failed.reason, failed.message);
        }
        Some(failed) => return degraded(failed.reason, failed.message),
        None => {}
    }
    let scales = |condition: &Condition<'_>| {
        matches!(condition.kind, "AbleToScale" | "ScalingLimited") && condition.is_true()
    };
    if all.iter().any(scales) {
        return healthy("");
    }
    progressing("WaitingToAutoscale", "Waiting to Autoscale")
}
