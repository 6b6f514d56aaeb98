//! Cron jobs.

use domain::health::Health;
use serde_json::Value;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing, suspended};

/// Reason of a CronJob whose last Job failed.
const LAST_RUN_FAILED: &str = "LastRunFailed";

/// The health of a CronJob whose Job runs, after a run that failed: still that of the failed run, because the status tells no
/// result before the end. `None` for every other object. `before` is the last assessed health.
pub(crate) fn retain_failed_run(object: &Value, before: Option<&Health>) -> Option<Health> {
    let is_running =
        object.pointer("/status/active").and_then(Value::as_array).is_some_and(|jobs| !jobs.is_empty());
    let is_retained = object["kind"] == "CronJob" && is_running && object["spec"]["suspend"] != true;
    before.filter(|before| is_retained && before.reason == LAST_RUN_FAILED).cloned()
}

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.is_set("/spec/suspend") {
        return suspended("CronJobSuspended", "CronJob is suspended");
    }
    if !view.has("/status") {
        return progressing("StatusNotReportedYet", "waiting for its first status");
    }
    let Some(scheduled) = view.timestamp("/status/lastScheduleTime") else {
        return healthy("has not been scheduled yet");
    };
    if !view.list("/status/active").is_empty() {
        return healthy("running");
    }
    match view.timestamp("/status/lastSuccessfulTime") {
        Some(succeeded) if succeeded >= scheduled => healthy(""),
        Some(_) => degraded(LAST_RUN_FAILED, "has not completed its last execution successfully"),
        None => degraded(LAST_RUN_FAILED, "has never completed an execution successfully"),
    }
}
