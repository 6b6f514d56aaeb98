//! Cron jobs.

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing, suspended};

/// Reason of a CronJob whose last Job failed.
const LAST_RUN_FAILED: &str = "LastRunFailed";
/// Reason of a CronJob whose Job runs, if it is not known how the Job before ended.
const LAST_RUN_UNKNOWN: &str = "LastRunUnknown";

/// The runs of a CronJob when it was assessed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CronJobRuns {
    /// Uids of the Jobs that ran.
    active: Vec<String>,
    /// When the newest of them was scheduled; empty if none was.
    scheduled: String,
}

impl CronJobRuns {
    /// The runs of this object; `None` if it is no CronJob.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        if object["kind"] != "CronJob" {
            return None;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let active = object.pointer("/status/active").and_then(Value::as_array);
        Some(Self {
            active: active.into_iter().flatten().map(|job| text(&job["uid"])).collect(),
            scheduled: text(&object["status"]["lastScheduleTime"]),
        })
    }

    /// How a run ended that ran when these were assessed; `None` if all of them run still, and if the next run replaced it: a run
    /// that its controller ends has no result.
    fn ended(&self, object: &Value) -> Option<Health> {
        let now = Self::of(object)?;
        if self.scheduled.is_empty() || self.active.iter().all(|uid| now.active.contains(uid)) {
            return None;
        }
        let succeeded = object["status"]["lastSuccessfulTime"].as_str().unwrap_or_default();
        // The times are those of the API server, all in the same form.
        if succeeded >= self.scheduled.as_str() {
            return Some(healthy("running"));
        }
        // The controller deletes the Job and starts the next one in one write of the status.
        let is_replaced = object["spec"]["concurrencyPolicy"] == "Replace" && !now.active.is_empty();
        (!is_replaced).then(degraded_by_last_run)
    }
}

/// The health of a CronJob that is assessed as `own` while a Job of it runs: its status tells no result before the end, so it is
/// what the run before led to, as far as that was observed. It is not known after a restart of the agent, or once the CronJob was
/// suspended. `before` and `runs` are the last assessed health and its runs. Every other health is returned as it is.
pub(crate) fn retain_last_run(
    own: Health,
    object: &Value,
    before: Option<&Health>,
    runs: Option<&CronJobRuns>,
) -> Health {
    if own.reason != LAST_RUN_UNKNOWN {
        return own;
    }
    // A controller may end a run and start the next one in one write.
    if let Some(ended) = runs.and_then(|runs| runs.ended(object)) {
        return ended;
    }
    match before {
        Some(failed) if failed.reason == LAST_RUN_FAILED => failed.clone(),
        Some(before) if before.status == HealthStatus::Healthy => healthy("running"),
        _ => own,
    }
}

fn degraded_by_last_run() -> Health {
    degraded(LAST_RUN_FAILED, "has not completed its last execution successfully")
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
        Some(_) => degraded_by_last_run(),
        None => degraded(LAST_RUN_FAILED, "has never completed an execution successfully"),
    }
}
