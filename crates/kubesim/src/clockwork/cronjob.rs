//! CronJobs: a Job whenever the schedule says so.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::{Span, Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use super::{Works, owner_reference};
use crate::object::{self, at, flag, int, list, put, text};

/// A cron expression of five fields, as sets of allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both kinds of days are restricted: then either may match.
    either: bool,
}

impl Schedule {
    /// Reads `*/5 * * * *`, ranges, lists and `@hourly` and its like.
    pub(crate) fn parse(text: &str) -> Option<Schedule> {
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
        let week = set(weekdays, 0, 7)?;
        Some(Schedule {
            minutes: set(minutes, 0, 59)?,
            hours: set(hours, 0, 23)?,
            days: set(days, 1, 31)?,
            months: set(months, 1, 12)?,
            // Sunday is 0 and 7.
            weekdays: (week | (week >> 7)) & 0x7f,
            either: !days.starts_with('*') && !weekdays.starts_with('*'),
        })
    }

    fn allows(&self, time: DateTime) -> bool {
        let has = |set: u64, value: i8| set & (1 << value) != 0;
        let day = has(self.days, time.day());
        let weekday = has(self.weekdays, time.weekday().to_sunday_zero_offset());
        let days = if self.either { day || weekday } else { day && weekday };
        has(self.minutes, time.minute())
            && has(self.hours, time.hour())
            && has(self.months, time.month())
            && days
    }

    /// The first due minute after a time; none within a year.
    fn after(&self, time: Timestamp) -> Option<Timestamp> {
        let zone = TimeZone::UTC;
        let start =
            time.to_zoned(zone.clone()).datetime().with().second(0).subsec_nanosecond(0).build().ok()?;
        let mut at = start.checked_add(Span::new().minutes(1)).ok()?;
        for _ in 0..(366 * 24 * 60) {
            if self.allows(at) {
                return at.to_zoned(zone).ok().map(|z| z.timestamp());
            }
            at = at.checked_add(Span::new().minutes(1)).ok()?;
        }
        None
    }
}

fn set(field: &str, low: u32, high: u32) -> Option<u64> {
    let mut out = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|s| *s > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (low, high),
            Some((from, to)) => (value(from)?, value(to)?),
            None if part.contains('/') => (value(range)?, high),
            None => (value(range)?, value(range)?),
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

fn value(text: &str) -> Option<u32> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let lower = text.to_lowercase();
    let month = MONTHS.iter().position(|m| *m == lower).map(|m| m + 1);
    let named = month.or_else(|| DAYS.iter().position(|d| *d == lower));
    named.and_then(|n| u32::try_from(n).ok()).or_else(|| text.parse().ok())
}

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let cron = works.get("batch", "CronJob", key)?;
    let cron = &cron.value;
    if object::deleting(cron) {
        return None;
    }
    follow(works, cron);
    if flag(cron, "spec.suspend") {
        return None;
    }
    let schedule = Schedule::parse(text(cron, "spec.schedule"))?;
    let last = text(cron, "status.lastScheduleTime");
    let last = if last.is_empty() { text(cron, "metadata.creationTimestamp") } else { last };
    let now = works.sim.clock.now();
    let mut due = schedule.after(last.parse().ok()?)?;
    if due <= now {
        // Missed runs are made up by one.
        while let Some(next) = schedule.after(due).filter(|next| *next <= now) {
            due = next;
        }
        start(works, cron, due);
        due = schedule.after(due)?;
    }
    Some(Duration::try_from(due.duration_since(now)).unwrap_or_default().max(Duration::from_millis(100)))
}

fn start(works: &mut Works, cron: &Value, due: Timestamp) {
    let (Some(jobs), Some(kind)) = (works.kind("batch", "Job"), works.kind("batch", "CronJob")) else {
        return;
    };
    let active = list(cron, "status.active").len();
    let policy = text(cron, "spec.concurrencyPolicy");
    if policy == "Forbid" && active > 0 {
        return;
    }
    if policy == "Replace" {
        for job in works.owned(cron, "batch", "Job") {
            if !finished(&job.value) {
                works.delete(&jobs, &job.value);
            }
        }
    }
    let template = at(cron, "spec.jobTemplate").cloned().unwrap_or_default();
    let mut metadata = template.get("metadata").cloned().unwrap_or_else(|| json!({}));
    metadata["name"] = format!("{}-{}", object::name(cron), due.as_second() / 60).into();
    metadata["namespace"] = object::namespace(cron).into();
    metadata["ownerReferences"] = vec![owner_reference(cron)].into();
    let job =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]});
    if let Err(message) = works.create(&jobs, job) {
        super::events::tell(
            works,
            cron,
            ("Warning", "FailedCreate"),
            &format!("Error creating job: {message}"),
        );
    }
    let stamp = crate::clock::stamp(due);
    works.status(&kind, cron, |live| put(live, "status.lastScheduleTime", stamp.clone()));
}

fn finished(job: &Value) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|c| object::condition(job, c).is_some_and(|c| text(c, "status") == "True"))
}

/// Keeps the list of running Jobs and the history limits.
fn follow(works: &mut Works, cron: &Value) {
    let (Some(jobs), Some(kind)) = (works.kind("batch", "Job"), works.kind("batch", "CronJob")) else {
        return;
    };
    let all = works.owned(cron, "batch", "Job");
    let active: Vec<Value> = all
        .iter()
        .filter(|j| !finished(&j.value))
        .map(|j| {
            json!({
                "apiVersion": "batch/v1", "kind": "Job", "name": object::name(&j.value),
                "namespace": object::namespace(&j.value), "uid": object::uid(&j.value),
                "resourceVersion": text(&j.value, "metadata.resourceVersion"),
            })
        })
        .collect();
    let last = all.iter().map(|j| text(&j.value, "status.completionTime")).max().unwrap_or("").to_owned();
    works.status(&kind, cron, |live| {
        if active.is_empty() {
            object::remove(live, "status.active");
        } else {
            put(live, "status.active", active.clone());
        }
        if !last.is_empty() && last.as_str() > text(live, "status.lastSuccessfulTime") {
            put(live, "status.lastSuccessfulTime", last.clone());
        }
    });
    for (condition, limit) in
        [("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")]
    {
        let keep = usize::try_from(int(cron, &format!("spec.{limit}")).unwrap_or(1)).unwrap_or(0);
        let done: Vec<_> = all.iter().filter(|j| object::condition(&j.value, condition).is_some()).collect();
        for job in done.iter().take(done.len().saturating_sub(keep)) {
            works.delete(&jobs, &job.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_find_their_next_minute() {
        for (schedule, from, next) in [
            ("*/5 * * * *", "2026-01-01T00:01:30Z", "2026-01-01T00:05:00Z"),
            ("0 3 * * mon", "2026-01-01T00:00:00Z", "2026-01-05T03:00:00Z"),
            ("@hourly", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"),
            ("0 0 1 * *", "2026-01-15T00:00:00Z", "2026-02-01T00:00:00Z"),
        ] {
            let schedule = Schedule::parse(schedule).unwrap();
            let next: Timestamp = next.parse().unwrap();
            assert_eq!(schedule.after(from.parse().unwrap()), Some(next));
        }
        assert_eq!(Schedule::parse("every day"), None);
        assert_eq!(Schedule::parse("61 * * * *"), None);
    }
}
