//! CronJobs: create Jobs on a schedule.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::{Span, Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use super::{ControllerContext, owner_reference};
use crate::object::{self, array_at, bool_at, i64_at, set_value, str_at, value_at};

/// Pause after a Job that could not be created.
const RETRY: Duration = Duration::from_secs(10);

/// A cron expression of five fields, as sets of allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CronSchedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Days of month and of week are both restricted: one of them must match.
    either_day: bool,
}

impl CronSchedule {
    /// Parses `*/5 * * * *`, ranges, lists, and macros like `@hourly`.
    pub(crate) fn parse(text: &str) -> Option<CronSchedule> {
        let text = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        let week = parse_field(weekdays, 0, 7)?;
        Some(CronSchedule {
            minutes: parse_field(minutes, 0, 59)?,
            hours: parse_field(hours, 0, 23)?,
            days: parse_field(days, 1, 31)?,
            months: parse_field(months, 1, 12)?,
            // Sunday is 0 and 7.
            weekdays: (week | (week >> 7)) & 0x7f,
            either_day: !days.starts_with('*') && !weekdays.starts_with('*'),
        })
    }

    fn matches(&self, time: DateTime) -> bool {
        let has = |set: u64, value: i8| set & (1 << value) != 0;
        let day = has(self.days, time.day());
        let weekday = has(self.weekdays, time.weekday().to_sunday_zero_offset());
        let days = if self.either_day { day || weekday } else { day && weekday };
        has(self.minutes, time.minute())
            && has(self.hours, time.hour())
            && has(self.months, time.month())
            && days
    }

    /// The first matching minute after a time; `None` if there is none within a year.
    fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        let zone = TimeZone::UTC;
        let start =
            time.to_zoned(zone.clone()).datetime().with().second(0).subsec_nanosecond(0).build().ok()?;
        let mut at = start.checked_add(Span::new().minutes(1)).ok()?;
        for _ in 0..(366 * 24 * 60) {
            if self.matches(at) {
                return at.to_zoned(zone).ok().map(|z| z.timestamp());
            }
            at = at.checked_add(Span::new().minutes(1)).ok()?;
        }
        None
    }
}

fn parse_field(field: &str, low: u32, high: u32) -> Option<u64> {
    let mut out = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|s| *s > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (low, high),
            Some((from, to)) => (parse_value(from)?, parse_value(to)?),
            None if part.contains('/') => (parse_value(range)?, high),
            None => (parse_value(range)?, parse_value(range)?),
        };
        if from < low || to > high || from > to {
            return None;
        }
        let mut at = from;
        while at <= to {
            out |= 1 << at;
            at += step;
        }
    }
    Some(out)
}

fn parse_value(text: &str) -> Option<u32> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let lower = text.to_lowercase();
    let month = MONTHS.iter().position(|m| *m == lower).map(|m| m + 1);
    let named = month.or_else(|| DAYS.iter().position(|d| *d == lower));
    named.and_then(|n| u32::try_from(n).ok()).or_else(|| text.parse().ok())
}

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let cron = ctx.get_object("batch", "CronJob", key)?;
    let cron = &cron.value;
    if object::is_deleting(cron) {
        return None;
    }
    update_history(ctx, cron);
    if bool_at(cron, "spec.suspend") {
        return None;
    }
    let schedule = CronSchedule::parse(str_at(cron, "spec.schedule"))?;
    let last = str_at(cron, "status.lastScheduleTime");
    let last = if last.is_empty() { str_at(cron, "metadata.creationTimestamp") } else { last };
    let now = ctx.sim.clock.now();
    let mut due = schedule.next_after(last.parse().ok()?)?;
    if due <= now {
        // Several missed runs are replaced by one.
        while let Some(next) = schedule.next_after(due).filter(|next| *next <= now) {
            due = next;
        }
        if !start_job(ctx, cron, due) {
            return Some(RETRY);
        }
        due = schedule.next_after(due)?;
    }
    Some(Duration::try_from(due.duration_since(now)).unwrap_or_default().max(Duration::from_millis(100)))
}

/// Starts the Job that is due. `false` if the API server refuses it: then it stays due, and is tried again.
fn start_job(ctx: &mut ControllerContext, cron: &Value, due: Timestamp) -> bool {
    let (Some(jobs), Some(kind)) = (ctx.builtin_kind("batch", "Job"), ctx.builtin_kind("batch", "CronJob"))
    else {
        return true;
    };
    let active = array_at(cron, "status.active").len();
    let policy = str_at(cron, "spec.concurrencyPolicy");
    if policy == "Forbid" && active > 0 {
        return true;
    }
    if policy == "Replace" {
        for job in ctx.list_controlled(cron, "batch", "Job") {
            if !is_finished(&job.value) {
                ctx.delete_object(&jobs, &job.value);
            }
        }
    }
    let template = value_at(cron, "spec.jobTemplate").cloned().unwrap_or_default();
    let mut metadata = template.get("metadata").cloned().unwrap_or_else(|| json!({}));
    metadata["name"] = format!("{}-{}", object::name(cron), due.as_second() / 60).into();
    metadata["namespace"] = object::namespace(cron).into();
    metadata["ownerReferences"] = vec![owner_reference(cron)].into();
    let job =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]});
    // A Job of this time that exists already was started by an earlier pass.
    if let Err(message) = ctx.create_object(&jobs, job)
        && !message.contains("already exists")
    {
        super::events::record_event(
            ctx,
            cron,
            ("Warning", "FailedCreate"),
            &format!("Error creating job: {message}"),
        );
        return false;
    }
    let stamp = crate::clock::format_timestamp(due);
    ctx.update_status(&kind, cron, |live| set_value(live, "status.lastScheduleTime", stamp.clone()));
    true
}

fn is_finished(job: &Value) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|c| object::condition(job, c).is_some_and(|c| str_at(c, "status") == "True"))
}

/// Updates the list of running Jobs and applies the history limits.
fn update_history(ctx: &mut ControllerContext, cron: &Value) {
    let (Some(jobs), Some(kind)) = (ctx.builtin_kind("batch", "Job"), ctx.builtin_kind("batch", "CronJob"))
    else {
        return;
    };
    let all = ctx.list_controlled(cron, "batch", "Job");
    let active: Vec<Value> = all
        .iter()
        .filter(|j| !is_finished(&j.value))
        .map(|j| {
            json!({
                "apiVersion": "batch/v1", "kind": "Job", "name": object::name(&j.value),
                "namespace": object::namespace(&j.value), "uid": object::uid(&j.value),
                "resourceVersion": str_at(&j.value, "metadata.resourceVersion"),
            })
        })
        .collect();
    let last = all.iter().map(|j| str_at(&j.value, "status.completionTime")).max().unwrap_or("").to_owned();
    ctx.update_status(&kind, cron, |live| {
        if active.is_empty() {
            object::remove_value(live, "status.active");
        } else {
            set_value(live, "status.active", active.clone());
        }
        if !last.is_empty() && last.as_str() > str_at(live, "status.lastSuccessfulTime") {
            set_value(live, "status.lastSuccessfulTime", last.clone());
        }
    });
    for (condition, limit) in
        [("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")]
    {
        let keep = usize::try_from(i64_at(cron, &format!("spec.{limit}")).unwrap_or(1)).unwrap_or(0);
        let done: Vec<_> = all.iter().filter(|j| object::condition(&j.value, condition).is_some()).collect();
        for job in done.iter().take(done.len().saturating_sub(keep)) {
            ctx.delete_object(&jobs, &job.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_finds_its_next_minute() {
        for (schedule, from, next) in [
            ("*/5 * * * *", "2026-01-01T00:01:30Z", "2026-01-01T00:05:00Z"),
            ("0 3 * * mon", "2026-01-01T00:00:00Z", "2026-01-05T03:00:00Z"),
            ("@hourly", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"),
            ("0 0 1 * *", "2026-01-15T00:00:00Z", "2026-02-01T00:00:00Z"),
        ] {
            let schedule = CronSchedule::parse(schedule).unwrap();
            let next: Timestamp = next.parse().unwrap();
            assert_eq!(schedule.next_after(from.parse().unwrap()), Some(next));
        }
        assert_eq!(CronSchedule::parse("every day"), None);
        assert_eq!(CronSchedule::parse("61 * * * *"), None);
    }
}
