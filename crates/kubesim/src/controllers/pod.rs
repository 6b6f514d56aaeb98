//! Pods: the scheduler binds them, a kubelet starts and stops them.

mod report;

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::conditions::{self, ConditionUpdate};
use super::{ControllerContext, claim, events, node};
use crate::faults::ContainerFault;
use crate::object::{self, array_at, set_value, str_at};
use crate::verbs::delete;
use report::{PodState, write_pod_status};

/// Back-off after the first crash; it doubles up to five minutes.
const CRASH_BACK_OFF: Duration = Duration::from_secs(10);
const MAX_BACK_OFF: Duration = Duration::from_secs(300);
/// Retry interval of failed image pulls and unschedulable pods.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// The stage of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodStage {
    Starting,
    PullFailed,
    BackingOff,
    Running,
    Crashing,
    CrashBackOff,
    Stopping,
}

/// A pod's stage and when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodTimer {
    pub stage: PodStage,
    pub due: Instant,
    pub restarts: u32,
}

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let pod = ctx.get_object("", "Pod", key)?;
    let pod = &pod.value;
    if object::is_deleting(pod) {
        return stop_pod(ctx, pod);
    }
    if matches!(str_at(pod, "status.phase"), "Succeeded" | "Failed") {
        return None;
    }
    if str_at(pod, "spec.nodeName").is_empty() {
        return bind_pod(ctx, pod);
    }
    let uid = object::uid(pod).to_owned();
    let Some(timer) = ctx.state.pod_timers.get(&uid).copied() else { return adopt_pod(ctx, pod) };
    if let Some(left) = ctx.time_until(timer.due) {
        return Some(left);
    }
    match timer.stage {
        PodStage::Starting => start_pod(ctx, pod, timer),
        PodStage::PullFailed => back_off_pull(ctx, pod, timer),
        PodStage::BackingOff => match worst_fault(ctx, pod) {
            Some(ContainerFault::ImagePull) => {
                set_timer(ctx, &uid, PodTimer { due: Instant::now() + RETRY_INTERVAL, ..timer })
            }
            _ => start_pod(ctx, pod, timer),
        },
        PodStage::Crashing => crash_pod(ctx, pod, timer),
        PodStage::CrashBackOff => start_pod(ctx, pod, timer),
        PodStage::Running => complete_pod(ctx, pod),
        PodStage::Stopping => None,
    }
}

fn set_timer(ctx: &mut ControllerContext, uid: &str, timer: PodTimer) -> Option<Duration> {
    ctx.state.pod_timers.insert(uid.to_owned(), timer);
    ctx.time_until(timer.due)
}

/// The start time of a pod: the configured one ± 20 %, deterministic per uid, plus the injected delay.
fn start_duration(ctx: &ControllerContext, pod: &Value) -> Duration {
    let spread: u32 = object::uid(pod).bytes().map(u32::from).sum::<u32>() % 41;
    let base = ctx.sim.options.pod_start;
    base * (80 + spread) / 100 + ctx.sim.faults.start_delay(object::name(pod))
}

/// The most severe fault of its containers.
fn worst_fault(ctx: &ControllerContext, pod: &Value) -> Option<ContainerFault> {
    let containers = array_at(pod, "spec.initContainers").iter().chain(array_at(pod, "spec.containers"));
    let mut found: Vec<ContainerFault> =
        containers.filter_map(|c| ctx.sim.faults.container_fault(c)).collect();
    found.sort_by_key(|a| match a {
        ContainerFault::ImagePull => 0,
        ContainerFault::OutOfMemory => 1,
        ContainerFault::Crash => 2,
        ContainerFault::NeverReady => 3,
    });
    found.first().copied()
}

fn bind_pod(ctx: &mut ControllerContext, pod: &Value) -> Option<Duration> {
    let kind = ctx.builtin_kind("", "Pod")?;
    let now = ctx.sim.clock.now_rfc3339();
    match node::schedule_pod(ctx, pod) {
        Ok(node) => {
            claim::select_node(ctx, pod, &node);
            let uid = object::uid(pod).to_owned();
            let due = Instant::now() + start_duration(ctx, pod);
            ctx.edit_object(&kind, pod, "status", |live| {
                set_value(live, "spec.nodeName", node.clone());
                write_pod_status(live, PodState::Creating, &now);
            });
            // Recorded now: this write's change is processed only after the next scheduling decision.
            let bound =
                serde_json::json!({"spec": {"nodeName": node, "containers": pod["spec"]["containers"]}});
            let key = crate::store::object_key(object::namespace(pod), object::name(pod));
            ctx.state.node_usage.record_pod(&key, &bound, false);
            set_timer(ctx, &uid, PodTimer { stage: PodStage::Starting, due, restarts: 0 })
        }
        Err(message) => {
            let already_reported =
                object::condition(pod, "PodScheduled").is_some_and(|c| str_at(c, "message") == message);
            ctx.update_status(&kind, pod, |live| {
                let condition = ConditionUpdate {
                    kind: "PodScheduled",
                    status: false,
                    reason: "Unschedulable",
                    message: &message,
                };
                conditions::set_condition(live, condition, &now, false);
            });
            if !already_reported {
                events::record_event(ctx, pod, ("Warning", "FailedScheduling"), &message);
            }
            Some(RETRY_INTERVAL)
        }
    }
}

/// Starts tracking a pod that was bound by another client or restored from a snapshot.
fn adopt_pod(ctx: &mut ControllerContext, pod: &Value) -> Option<Duration> {
    let uid = object::uid(pod).to_owned();
    let running = str_at(pod, "status.phase") == "Running" && super::pods::is_ready(pod);
    let stage = if running { PodStage::Running } else { PodStage::Starting };
    let due = Instant::now() + start_duration(ctx, pod);
    let timer = PodTimer { stage, due, restarts: 0 };
    if running && str_at(pod, "spec.restartPolicy") == "Always" {
        ctx.state.pod_timers.insert(uid, timer);
        return None;
    }
    set_timer(ctx, &uid, timer)
}

fn start_pod(ctx: &mut ControllerContext, pod: &Value, timer: PodTimer) -> Option<Duration> {
    let (kind, uid) = (ctx.builtin_kind("", "Pod")?, object::uid(pod).to_owned());
    let now = ctx.sim.clock.now_rfc3339();
    let soon = Instant::now() + ctx.sim.options.pod_start / 2;
    let ip = match str_at(pod, "status.podIP") {
        "" => crate::defaults::format_address("10.244", ctx.sim.next_serial()),
        ip => ip.to_owned(),
    };
    let ailment = worst_fault(ctx, pod);
    let phase = match ailment {
        Some(ContainerFault::ImagePull) => {
            ctx.update_status(&kind, pod, |live| {
                write_pod_status(live, PodState::PullFailed(&unpullable_containers(ctx, live)), &now)
            });
            for (image, message) in unpullable_images(ctx, pod) {
                let text = format!("Failed to pull image \"{image}\": {message}");
                events::record_event(ctx, pod, ("Warning", "Failed"), &text);
            }
            let due = Instant::now() + ctx.sim.options.pod_start.max(Duration::from_millis(50));
            return set_timer(ctx, &uid, PodTimer { stage: PodStage::PullFailed, due, ..timer });
        }
        Some(_) => PodState::RunningUnready,
        None => PodState::Running,
    };
    let restarts = timer.restarts;
    ctx.update_status(&kind, pod, |live| {
        set_value(live, "status.podIP", ip.clone());
        set_value(live, "status.podIPs", vec![serde_json::json!({"ip": ip})]);
        write_pod_status(live, phase, &now);
    });
    match ailment {
        Some(ContainerFault::NeverReady) => {
            let message = "Readiness probe failed: HTTP probe failed with statuscode: 503";
            events::record_event(ctx, pod, ("Warning", "Unhealthy"), message);
            ctx.state.pod_timers.insert(uid, PodTimer { stage: PodStage::Running, due: soon, restarts });
            None
        }
        Some(_) => set_timer(ctx, &uid, PodTimer { stage: PodStage::Crashing, due: soon, restarts }),
        None if str_at(pod, "spec.restartPolicy") == "Always" => {
            ctx.state.pod_timers.insert(uid, PodTimer { stage: PodStage::Running, due: soon, restarts });
            None
        }
        None => {
            let due = Instant::now() + ctx.sim.options.job_run;
            set_timer(ctx, &uid, PodTimer { stage: PodStage::Running, due, restarts })
        }
    }
}

/// The containers whose image cannot be pulled.
fn unpullable_containers(ctx: &ControllerContext, pod: &Value) -> Vec<String> {
    let ails = |c: &&Value| ctx.sim.faults.container_fault(c) == Some(ContainerFault::ImagePull);
    let containers = array_at(pod, "spec.initContainers").iter().chain(array_at(pod, "spec.containers"));
    containers.filter(ails).map(|c| str_at(c, "name").to_owned()).collect()
}

fn unpullable_images(ctx: &ControllerContext, pod: &Value) -> Vec<(String, String)> {
    let names = unpullable_containers(ctx, pod);
    let containers = array_at(pod, "spec.initContainers").iter().chain(array_at(pod, "spec.containers"));
    let images =
        containers.filter(|c| names.iter().any(|n| n == str_at(c, "name"))).map(|c| str_at(c, "image"));
    images.map(|i| (i.to_owned(), report::pull_error_message(i))).collect()
}

fn back_off_pull(ctx: &mut ControllerContext, pod: &Value, timer: PodTimer) -> Option<Duration> {
    let (kind, uid) = (ctx.builtin_kind("", "Pod")?, object::uid(pod).to_owned());
    let now = ctx.sim.clock.now_rfc3339();
    ctx.update_status(&kind, pod, |live| {
        write_pod_status(live, PodState::PullBackOff(&unpullable_containers(ctx, live)), &now)
    });
    set_timer(
        ctx,
        &uid,
        PodTimer { stage: PodStage::BackingOff, due: Instant::now() + RETRY_INTERVAL, ..timer },
    )
}

fn crash_pod(ctx: &mut ControllerContext, pod: &Value, timer: PodTimer) -> Option<Duration> {
    let (kind, uid) = (ctx.builtin_kind("", "Pod")?, object::uid(pod).to_owned());
    let now = ctx.sim.clock.now_rfc3339();
    let memory = worst_fault(ctx, pod) == Some(ContainerFault::OutOfMemory);
    let policy = str_at(pod, "spec.restartPolicy");
    if policy == "Never" {
        ctx.update_status(&kind, pod, |live| write_pod_status(live, PodState::Failed { memory }, &now));
        return None;
    }
    let back_off = (CRASH_BACK_OFF * 2_u32.pow(timer.restarts.min(5))).min(MAX_BACK_OFF);
    let ailing: Vec<String> = array_at(pod, "spec.containers")
        .iter()
        .filter(|c| ctx.sim.faults.container_fault(c).is_some_and(|a| a != ContainerFault::NeverReady))
        .map(|c| str_at(c, "name").to_owned())
        .collect();
    let phase = PodState::Crashed { memory, back_off, ailing: &ailing };
    ctx.update_status(&kind, pod, |live| write_pod_status(live, phase, &now));
    let name = ailing.first().map_or("", String::as_str);
    let message = format!("Back-off restarting failed container {name} in pod {}", object::name(pod));
    events::record_event(ctx, pod, ("Warning", "BackOff"), &message);
    let due = Instant::now() + back_off;
    set_timer(ctx, &uid, PodTimer { stage: PodStage::CrashBackOff, due, restarts: timer.restarts + 1 })
}

/// Completes a pod that runs to completion, like that of a Job.
fn complete_pod(ctx: &mut ControllerContext, pod: &Value) -> Option<Duration> {
    if str_at(pod, "spec.restartPolicy") == "Always" || !super::pods::is_ready(pod) {
        return None;
    }
    let kind = ctx.builtin_kind("", "Pod")?;
    let now = ctx.sim.clock.now_rfc3339();
    ctx.update_status(&kind, pod, |live| write_pod_status(live, PodState::Succeeded, &now));
    None
}

fn stop_pod(ctx: &mut ControllerContext, pod: &Value) -> Option<Duration> {
    let (kind, uid) = (ctx.builtin_kind("", "Pod")?, object::uid(pod).to_owned());
    let timer = ctx.state.pod_timers.get(&uid).copied().filter(|t| t.stage == PodStage::Stopping);
    let Some(timer) = timer else {
        let due = Instant::now() + ctx.sim.options.pod_start / 4;
        let again = set_timer(ctx, &uid, PodTimer { stage: PodStage::Stopping, due, restarts: 0 });
        return Some(again.unwrap_or_default());
    };
    if let Some(left) = ctx.time_until(timer.due) {
        return Some(left);
    }
    let options = serde_json::json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}});
    delete::delete_as_system(&ctx.sim, &super::resource_path(&kind, pod), &options);
    None
}

/// The log of a simulated container; nothing is run.
pub(crate) fn container_log(pod: &Value, container: &str) -> String {
    let name = object::name(pod);
    let first = array_at(pod, "spec.containers").first().map_or("", |c| str_at(c, "name"));
    let container = if container.is_empty() { first } else { container };
    let status = array_at(pod, "status.containerStatuses").iter().find(|s| str_at(s, "name") == container);
    let ended = status.map_or("", |s| str_at(s, "lastState.terminated.reason"));
    let mut out = format!("simulated container {container} of pod {name}\n");
    if !ended.is_empty() {
        out.push_str(&format!("ended with {ended}\n"));
    }
    out
}
