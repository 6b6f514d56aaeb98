//! Cron jobs.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing, suspended};

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
    let Some(succeeded) = view.timestamp("/status/lastSuccessfulTime") else {
        return healthy("never completed successfully");
    };
    if !view.list("/status/active").is_empty() {
        return healthy("running");
    }
    if succeeded < scheduled {
        return degraded("LastRunFailed", "has not completed its last execution successfully");
    }
    healthy("")
}
