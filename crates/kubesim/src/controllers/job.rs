//! Jobs: pods that run to completion.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::conditions::{self, ConditionUpdate, set_count};
use super::{ControllerContext, events, pods};
use crate::object::{self, bool_at, i64_at, set_value, str_at};
use crate::store::StoredObject;

/// Whether a Job failed or completed, with the reason of its final conditions.
struct JobOutcome {
    failed: bool,
    reason: &'static str,
    message: &'static str,
}

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let job = ctx.get_object("batch", "Job", key)?;
    let job = &job.value;
    if object::is_deleting(job) {
        return None;
    }
    if is_finished(job) {
        return delete_after_ttl(ctx, job);
    }
    let all = ctx.list_controlled(job, "", "Pod");
    let phase = |p: &Arc<StoredObject>, expected: &str| str_at(&p.value, "status.phase") == expected;
    let number = |n: usize| i64::try_from(n).unwrap_or(0);
    let succeeded = number(all.iter().filter(|p| phase(p, "Succeeded")).count());
    let failed = number(all.iter().filter(|p| phase(p, "Failed")).count());
    let restarts: i64 = all.iter().map(|p| count_restarts(&p.value)).sum();
    let (completions, parallelism) =
        (i64_at(job, "spec.completions").unwrap_or(1), i64_at(job, "spec.parallelism").unwrap_or(1));
    let end =
        job_outcome(job, (succeeded, failed + restarts), completions).or_else(|| check_deadline(ctx, job));
    let suspended = bool_at(job, "spec.suspend");
    let mut again = time_to_deadline(ctx, job);
    if let Some(end) = &end {
        stop_if_failed(ctx, &all, end);
    } else if suspended {
        delete_active_pods(ctx, &all);
    } else {
        let active = number(all.iter().filter(|p| pods::is_active(&p.value)).count());
        let missing = (parallelism.min(completions - succeeded) - active).max(0);
        again = create_pods(ctx, job, missing).or(again);
    }
    write_status(ctx, job, (succeeded, failed), end);
    again
}

fn is_finished(job: &Value) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|c| object::condition(job, c).is_some_and(|c| str_at(c, "status") == "True"))
}

fn count_restarts(pod: &Value) -> i64 {
    object::array_at(pod, "status.containerStatuses").iter().filter_map(|s| i64_at(s, "restartCount")).sum()
}

fn job_outcome(job: &Value, (succeeded, failed): (i64, i64), completions: i64) -> Option<JobOutcome> {
    if succeeded >= completions {
        let (reason, message) = ("CompletionsReached", "Reached expected number of succeeded pods");
        return Some(JobOutcome { failed: false, reason, message });
    }
    let limit = i64_at(job, "spec.backoffLimit").unwrap_or(6);
    (failed > limit).then_some(JobOutcome {
        failed: true,
        reason: "BackoffLimitExceeded",
        message: "Job has reached the specified backoff limit",
    })
}

fn deadline_instant(ctx: &mut ControllerContext, job: &Value) -> Option<Instant> {
    let seconds = u64::try_from(i64_at(job, "spec.activeDeadlineSeconds")?).ok()?;
    let uid = object::uid(job).to_owned();
    Some(*ctx.state.due_times.entry(uid).or_insert_with(|| Instant::now() + Duration::from_secs(seconds)))
}

fn time_to_deadline(ctx: &mut ControllerContext, job: &Value) -> Option<Duration> {
    let due = deadline_instant(ctx, job)?;
    ctx.time_until(due)
}

fn check_deadline(ctx: &mut ControllerContext, job: &Value) -> Option<JobOutcome> {
    let due = deadline_instant(ctx, job)?;
    let message = "Job was active longer than specified deadline";
    ctx.time_until(due).is_none().then_some(JobOutcome { failed: true, reason: "DeadlineExceeded", message })
}

fn stop_if_failed(ctx: &mut ControllerContext, all: &[Arc<StoredObject>], end: &JobOutcome) {
    if end.failed {
        delete_active_pods(ctx, all);
    }
}

fn delete_active_pods(ctx: &mut ControllerContext, all: &[Arc<StoredObject>]) {
    let Some(kind) = ctx.builtin_kind("", "Pod") else { return };
    for pod in all.iter().filter(|p| pods::is_active(&p.value)) {
        ctx.delete_object(&kind, &pod.value);
    }
}

fn create_pods(ctx: &mut ControllerContext, job: &Value, missing: i64) -> Option<Duration> {
    let kind = ctx.builtin_kind("", "Pod")?;
    for _ in 0..missing {
        let mut pod = pods::pod_from_template(job, &pods::pod_template(job));
        set_value(&mut pod, "metadata.generateName", format!("{}-", object::name(job)));
        if let Err(message) = ctx.create_object(&kind, pod) {
            let failures = ctx.state.failed_tries.entry(object::uid(job).to_owned()).or_default();
            *failures += 1;
            let again = pods::backoff_delay(*failures - 1);
            events::record_event(
                ctx,
                job,
                ("Warning", "FailedCreate"),
                &format!("Error creating: {message}"),
            );
            return Some(again);
        }
    }
    ctx.state.failed_tries.remove(object::uid(job));
    None
}

fn write_status(
    ctx: &mut ControllerContext,
    job: &Value,
    (succeeded, failed): (i64, i64),
    end: Option<JobOutcome>,
) {
    let Some(kind) = ctx.builtin_kind("batch", "Job") else { return };
    let all = ctx.list_controlled(job, "", "Pod");
    let running: Vec<&Arc<StoredObject>> = all.iter().filter(|p| pods::is_active(&p.value)).collect();
    let number = |n: usize| i64::try_from(n).unwrap_or(0);
    let (active, ready) =
        (number(running.len()), number(running.iter().filter(|p| pods::is_ready(&p.value)).count()));
    let now = ctx.sim.clock.now_rfc3339();
    let suspended = bool_at(job, "spec.suspend");
    ctx.update_status(&kind, job, |live| {
        if !suspended {
            object::set_default(live, "status.startTime", now.clone());
        }
        set_count(live, "status.active", active);
        set_count(live, "status.succeeded", succeeded);
        set_count(live, "status.failed", failed);
        set_value(live, "status.ready", ready);
        set_value(live, "status.terminating", 0);
        set_value(live, "status.uncountedTerminatedPods", serde_json::Map::new());
        set_suspended_condition(live, suspended, &now);
        if let Some(end) = &end {
            set_finished_conditions(live, end, &now);
        }
    });
}

fn set_suspended_condition(live: &mut Value, suspended: bool, now: &str) {
    if suspended {
        let condition = ConditionUpdate {
            kind: "Suspended",
            status: true,
            reason: "JobSuspended",
            message: "Job suspended",
        };
        conditions::set_condition(live, condition, now, false);
    } else if object::condition(live, "Suspended").is_some() {
        let condition = ConditionUpdate {
            kind: "Suspended",
            status: false,
            reason: "JobResumed",
            message: "Job resumed",
        };
        conditions::set_condition(live, condition, now, false);
    }
}

fn set_finished_conditions(live: &mut Value, end: &JobOutcome, now: &str) {
    let (interim, last) =
        if end.failed { ("FailureTarget", "Failed") } else { ("SuccessCriteriaMet", "Complete") };
    for kind in [interim, last] {
        let condition = ConditionUpdate { kind, status: true, reason: end.reason, message: end.message };
        conditions::set_condition(live, condition, now, false);
        if let Some(all) = object::value_at_mut(live, "status.conditions").as_array_mut() {
            all.iter_mut()
                .filter(|c| str_at(c, "type") == kind)
                .for_each(|c| object::set_default(c, "lastProbeTime", now));
        }
    }
    if !end.failed {
        object::set_default(live, "status.completionTime", now);
    }
}

/// Deletes a finished Job after `ttlSecondsAfterFinished`.
fn delete_after_ttl(ctx: &mut ControllerContext, job: &Value) -> Option<Duration> {
    let seconds = u64::try_from(i64_at(job, "spec.ttlSecondsAfterFinished")?).ok()?;
    let uid = format!("{} ttl", object::uid(job));
    let due = *ctx
        .state
        .due_times
        .entry(uid.clone())
        .or_insert_with(|| Instant::now() + Duration::from_secs(seconds));
    if let Some(left) = ctx.time_until(due) {
        return Some(left);
    }
    ctx.state.due_times.remove(&uid);
    let kind = ctx.builtin_kind("batch", "Job")?;
    ctx.delete_object(&kind, job);
    None
}
