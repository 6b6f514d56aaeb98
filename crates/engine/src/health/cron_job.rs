//! Cron jobs.

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing, suspended};

/// Reason of a CronJob whose last Job failed.
const LAST_RUN_FAILED: &str = "LastRunFailed";
/// Reason of a CronJob whose Job runs, if it is not known how the Job before ended.
const LAST_RUN_UNKNOWN: &str = "LastRunUnknown";

/// The health of a CronJob while a Job of it runs: what the run before it led to, as it was assessed last. Its status tells no
/// result before the end. `None` for every other object, and if nothing is known about the run before: after a restart of the
/// agent, or once the CronJob was suspended. `before` is the last assessed health.
pub(crate) fn retain_last_run(object: &Value, before: Option<&Health>) -> Option<Health> {
    let is_running =
        object.pointer("/status/active").and_then(Value::as_array).is_some_and(|jobs| !jobs.is_empty());
    let is_retained = object["kind"] == "CronJob" && is_running && object["spec"]["suspend"] != true;
    match before.filter(|_| is_retained)? {
        failed if failed.reason == LAST_RUN_FAILED => Some(failed.clone()),
        before if before.status == HealthStatus::Healthy => Some(healthy("running")),
        _ => None,
    }
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
    match view.timestamp("/status/lastSuccessfulTime") {
        Some(succeeded) if succeeded >= scheduled => healthy(""),
        _ if !view.list("/status/active").is_empty() => {
            progressing(LAST_RUN_UNKNOWN, "runs; how its run before ended is known once this one has ended")
        }
        Some(_) => degraded(LAST_RUN_FAILED, "has not completed its last execution successfully"),
        None => degraded(LAST_RUN_FAILED, "has never completed an execution successfully"),
    }
}
