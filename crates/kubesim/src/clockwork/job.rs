//! Jobs: pods that run to their end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::conditions::{self, Condition, count};
use super::{Works, events, pods};
use crate::object::{self, flag, int, put, text};
use crate::store::Stored;

/// The conditions that end a Job, and why.
struct End {
    failed: bool,
    reason: &'static str,
    message: &'static str,
}

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let job = works.get("batch", "Job", key)?;
    let job = &job.value;
    if object::deleting(job) {
        return None;
    }
    if ended(job) {
        return expire(works, job);
    }
    let all = works.owned(job, "", "Pod");
    let phase = |p: &Arc<Stored>, wanted: &str| text(&p.value, "status.phase") == wanted;
    let number = |n: usize| i64::try_from(n).unwrap_or(0);
    let succeeded = number(all.iter().filter(|p| phase(p, "Succeeded")).count());
    let failed = number(all.iter().filter(|p| phase(p, "Failed")).count());
    let restarts: i64 = all.iter().map(|p| restarts(&p.value)).sum();
    let (wanted, wide) =
        (int(job, "spec.completions").unwrap_or(1), int(job, "spec.parallelism").unwrap_or(1));
    let end = end(job, (succeeded, failed + restarts), wanted).or_else(|| late(works, job));
    let suspended = flag(job, "spec.suspend");
    let mut again = deadline(works, job);
    if let Some(end) = &end {
        stop(works, &all, end);
    } else if suspended {
        stop_all(works, &all);
    } else {
        let active = number(all.iter().filter(|p| pods::active(&p.value)).count());
        let missing = (wide.min(wanted - succeeded) - active).max(0);
        again = make(works, job, missing).or(again);
    }
    report(works, job, (succeeded, failed), end);
    again
}

fn ended(job: &Value) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|c| object::condition(job, c).is_some_and(|c| text(c, "status") == "True"))
}

fn restarts(pod: &Value) -> i64 {
    object::list(pod, "status.containerStatuses").iter().filter_map(|s| int(s, "restartCount")).sum()
}

fn end(job: &Value, (succeeded, failed): (i64, i64), wanted: i64) -> Option<End> {
    if succeeded >= wanted {
        let (reason, message) = ("CompletionsReached", "Reached expected number of succeeded pods");
        return Some(End { failed: false, reason, message });
    }
    let limit = int(job, "spec.backoffLimit").unwrap_or(6);
    (failed > limit).then_some(End {
        failed: true,
        reason: "BackoffLimitExceeded",
        message: "Job has reached the specified backoff limit",
    })
}

fn deadline_moment(works: &mut Works, job: &Value) -> Option<Instant> {
    let seconds = u64::try_from(int(job, "spec.activeDeadlineSeconds")?).ok()?;
    let uid = object::uid(job).to_owned();
    Some(*works.memory.due.entry(uid).or_insert_with(|| Instant::now() + Duration::from_secs(seconds)))
}

fn deadline(works: &mut Works, job: &Value) -> Option<Duration> {
    let due = deadline_moment(works, job)?;
    works.until(due)
}

fn late(works: &mut Works, job: &Value) -> Option<End> {
    let due = deadline_moment(works, job)?;
    let message = "Job was active longer than specified deadline";
    works.until(due).is_none().then_some(End { failed: true, reason: "DeadlineExceeded", message })
}

fn stop(works: &mut Works, all: &[Arc<Stored>], end: &End) {
    if end.failed {
        stop_all(works, all);
    }
}

fn stop_all(works: &mut Works, all: &[Arc<Stored>]) {
    let Some(kind) = works.kind("", "Pod") else { return };
    for pod in all.iter().filter(|p| pods::active(&p.value)) {
        works.delete(&kind, &pod.value);
    }
}

fn make(works: &mut Works, job: &Value, missing: i64) -> Option<Duration> {
    let kind = works.kind("", "Pod")?;
    for _ in 0..missing {
        let mut pod = pods::from_template(job, &pods::template(job));
        put(&mut pod, "metadata.generateName", format!("{}-", object::name(job)));
        if let Err(message) = works.create(&kind, pod) {
            let failures = works.memory.failures.entry(object::uid(job).to_owned()).or_default();
            *failures += 1;
            let again = pods::back_off(*failures - 1);
            events::tell(works, job, ("Warning", "FailedCreate"), &format!("Error creating: {message}"));
            return Some(again);
        }
    }
    works.memory.failures.remove(object::uid(job));
    None
}

fn report(works: &mut Works, job: &Value, (succeeded, failed): (i64, i64), end: Option<End>) {
    let Some(kind) = works.kind("batch", "Job") else { return };
    let all = works.owned(job, "", "Pod");
    let running: Vec<&Arc<Stored>> = all.iter().filter(|p| pods::active(&p.value)).collect();
    let number = |n: usize| i64::try_from(n).unwrap_or(0);
    let (active, ready) =
        (number(running.len()), number(running.iter().filter(|p| pods::ready(&p.value)).count()));
    let now = works.sim.clock.stamp();
    let suspended = flag(job, "spec.suspend");
    works.status(&kind, job, |live| {
        if !suspended {
            object::put_default(live, "status.startTime", now.clone());
        }
        count(live, "status.active", active);
        count(live, "status.succeeded", succeeded);
        count(live, "status.failed", failed);
        put(live, "status.ready", ready);
        put(live, "status.terminating", 0);
        put(live, "status.uncountedTerminatedPods", serde_json::Map::new());
        suspension(live, suspended, &now);
        if let Some(end) = &end {
            finish(live, end, &now);
        }
    });
}

fn suspension(live: &mut Value, suspended: bool, now: &str) {
    if suspended {
        let condition =
            Condition { kind: "Suspended", status: true, reason: "JobSuspended", message: "Job suspended" };
        conditions::set(live, condition, now, false);
    } else if object::condition(live, "Suspended").is_some() {
        let condition =
            Condition { kind: "Suspended", status: false, reason: "JobResumed", message: "Job resumed" };
        conditions::set(live, condition, now, false);
    }
}

fn finish(live: &mut Value, end: &End, now: &str) {
    let (interim, last) =
        if end.failed { ("FailureTarget", "Failed") } else { ("SuccessCriteriaMet", "Complete") };
    for kind in [interim, last] {
        let condition = Condition { kind, status: true, reason: end.reason, message: end.message };
        conditions::set(live, condition, now, false);
        if let Some(all) = object::place(live, "status.conditions").as_array_mut() {
            all.iter_mut()
                .filter(|c| text(c, "type") == kind)
                .for_each(|c| object::put_default(c, "lastProbeTime", now));
        }
    }
    if !end.failed {
        object::put_default(live, "status.completionTime", now);
    }
}

/// A finished Job goes after its time to live.
fn expire(works: &mut Works, job: &Value) -> Option<Duration> {
    let seconds = u64::try_from(int(job, "spec.ttlSecondsAfterFinished")?).ok()?;
    let uid = format!("{} ttl", object::uid(job));
    let due =
        *works.memory.due.entry(uid.clone()).or_insert_with(|| Instant::now() + Duration::from_secs(seconds));
    if let Some(left) = works.until(due) {
        return Some(left);
    }
    works.memory.due.remove(&uid);
    let kind = works.kind("batch", "Job")?;
    works.delete(&kind, job);
    None
}
