//! Jobs. The status of a condition counts, not its presence.

use domain::health::{Health, HealthStatus};

use super::object_view::ObjectView;
use super::{COMPLETED, degraded, progressing, suspended};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    let is_true = |kind: &str| view.condition(kind).filter(|c| c.is_true());
    if let Some(failed) = is_true("Failed") {
        return degraded(failed.reason_or("JobFailed"), failed.message);
    }
    let succeeded = view.int("/status/succeeded");
    if is_true("Complete").or_else(|| is_true("SuccessCriteriaMet")).is_some() {
        let message = format!("{succeeded}/{} succeeded", view.int_or("/spec/completions", 1));
        return Health::new(HealthStatus::Healthy, COMPLETED, message);
    }
    if is_true("Suspended").is_some() || view.is_set("/spec/suspend") {
        return suspended("JobSuspended", "Job is suspended");
    }
    if !view.has("/status/startTime") {
        return progressing("JobNotStarted", "has not started");
    }
    let (active, failed) = (view.int("/status/active"), view.int("/status/failed"));
    progressing("JobRunning", format!("active {active}, succeeded {succeeded}, failed {failed}"))
}
