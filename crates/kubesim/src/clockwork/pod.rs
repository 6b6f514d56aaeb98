//! Pods: the scheduler binds them, a kubelet starts and ends them.

mod report;

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::conditions::{self, Condition};
use super::{Works, events, node};
use crate::faults::Ailment;
use crate::object::{self, list, put, text};
use crate::verbs::delete;
use report::{Phase, container_states};

/// Back-off after the first crash; it doubles up to five minutes.
const CRASH_BACK_OFF: Duration = Duration::from_secs(10);
const MOST_BACK_OFF: Duration = Duration::from_secs(300);
/// How often an image that could not be pulled, or a pod without a node, is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// What a pod waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Starting,
    PullFailed,
    BackingOff,
    Running,
    Crashing,
    CrashWait,
    Stopping,
}

/// A pod's stage and when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub stage: Stage,
    pub due: Instant,
    pub restarts: u32,
}

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let pod = works.get("", "Pod", key)?;
    let pod = &pod.value;
    if object::deleting(pod) {
        return stop(works, pod);
    }
    if matches!(text(pod, "status.phase"), "Succeeded" | "Failed") {
        return None;
    }
    if text(pod, "spec.nodeName").is_empty() {
        return bind(works, pod);
    }
    let uid = object::uid(pod).to_owned();
    let Some(timer) = works.memory.pods.get(&uid).copied() else { return adopt(works, pod) };
    if let Some(left) = works.until(timer.due) {
        return Some(left);
    }
    match timer.stage {
        Stage::Starting => start(works, pod, timer),
        Stage::PullFailed => pull_back_off(works, pod, timer),
        Stage::BackingOff => match worst(works, pod) {
            Some(Ailment::ImagePull) => wait(works, &uid, Timer { due: Instant::now() + RETRY, ..timer }),
            _ => start(works, pod, timer),
        },
        Stage::Crashing => crash(works, pod, timer),
        Stage::CrashWait => start(works, pod, timer),
        Stage::Running => run(works, pod),
        Stage::Stopping => None,
    }
}

fn wait(works: &mut Works, uid: &str, timer: Timer) -> Option<Duration> {
    works.memory.pods.insert(uid.to_owned(), timer);
    works.until(timer.due)
}

/// The time a pod takes to start: the cluster's, give or take a fifth, the same for one pod every time.
fn start_time(works: &Works, pod: &Value) -> Duration {
    let spread: u32 = object::uid(pod).bytes().map(u32::from).sum::<u32>() % 41;
    let base = works.sim.options.pod_start;
    base * (80 + spread) / 100 + works.sim.faults.start_delay(object::name(pod))
}

/// The worst that ails one of its containers.
fn worst(works: &Works, pod: &Value) -> Option<Ailment> {
    let containers = list(pod, "spec.initContainers").iter().chain(list(pod, "spec.containers"));
    let mut found: Vec<Ailment> = containers.filter_map(|c| works.sim.faults.ailment(c)).collect();
    found.sort_by_key(|a| match a {
        Ailment::ImagePull => 0,
        Ailment::OutOfMemory => 1,
        Ailment::Crash => 2,
        Ailment::NeverReady => 3,
    });
    found.first().copied()
}

fn bind(works: &mut Works, pod: &Value) -> Option<Duration> {
    let kind = works.kind("", "Pod")?;
    let now = works.sim.clock.stamp();
    match node::schedule(works, pod) {
        Ok(node) => {
            let uid = object::uid(pod).to_owned();
            let due = Instant::now() + start_time(works, pod);
            works.edit(&kind, pod, "status", |live| {
                put(live, "spec.nodeName", node.clone());
                container_states(live, Phase::Creating, &now);
            });
            // The wake for this write would come after the next decision about a node.
            let bound =
                serde_json::json!({"spec": {"nodeName": node, "containers": pod["spec"]["containers"]}});
            let key = crate::store::key(object::namespace(pod), object::name(pod));
            works.memory.nodes.note(&key, &bound, false);
            wait(works, &uid, Timer { stage: Stage::Starting, due, restarts: 0 })
        }
        Err(message) => {
            let told = object::condition(pod, "PodScheduled").is_some_and(|c| text(c, "message") == message);
            works.status(&kind, pod, |live| {
                let condition = Condition {
                    kind: "PodScheduled",
                    status: false,
                    reason: "Unschedulable",
                    message: &message,
                };
                conditions::set(live, condition, &now, false);
            });
            if !told {
                events::tell(works, pod, ("Warning", "FailedScheduling"), &message);
            }
            Some(RETRY)
        }
    }
}

/// A pod this kubelet knows nothing of: bound by somebody else, or from before a restart.
fn adopt(works: &mut Works, pod: &Value) -> Option<Duration> {
    let uid = object::uid(pod).to_owned();
    let running = text(pod, "status.phase") == "Running" && super::pods::ready(pod);
    let stage = if running { Stage::Running } else { Stage::Starting };
    let due = Instant::now() + start_time(works, pod);
    let timer = Timer { stage, due, restarts: 0 };
    if running && text(pod, "spec.restartPolicy") == "Always" {
        works.memory.pods.insert(uid, timer);
        return None;
    }
    wait(works, &uid, timer)
}

fn start(works: &mut Works, pod: &Value, timer: Timer) -> Option<Duration> {
    let (kind, uid) = (works.kind("", "Pod")?, object::uid(pod).to_owned());
    let now = works.sim.clock.stamp();
    let soon = Instant::now() + works.sim.options.pod_start / 2;
    let ip = match text(pod, "status.podIP") {
        "" => crate::defaults::address("10.244", works.sim.next()),
        ip => ip.to_owned(),
    };
    let ailment = worst(works, pod);
    let phase = match ailment {
        Some(Ailment::ImagePull) => {
            works.status(&kind, pod, |live| {
                container_states(live, Phase::PullFailed(&failing(works, live)), &now)
            });
            for (image, message) in failing_images(works, pod) {
                let text = format!("Failed to pull image \"{image}\": {message}");
                events::tell(works, pod, ("Warning", "Failed"), &text);
            }
            let due = Instant::now() + works.sim.options.pod_start.max(Duration::from_millis(50));
            return wait(works, &uid, Timer { stage: Stage::PullFailed, due, ..timer });
        }
        Some(_) => Phase::RunningUnready,
        None => Phase::Running,
    };
    let restarts = timer.restarts;
    works.status(&kind, pod, |live| {
        put(live, "status.podIP", ip.clone());
        put(live, "status.podIPs", vec![serde_json::json!({"ip": ip})]);
        container_states(live, phase, &now);
    });
    match ailment {
        Some(Ailment::NeverReady) => {
            let message = "Readiness probe failed: HTTP probe failed with statuscode: 503";
            events::tell(works, pod, ("Warning", "Unhealthy"), message);
            works.memory.pods.insert(uid, Timer { stage: Stage::Running, due: soon, restarts });
            None
        }
        Some(_) => wait(works, &uid, Timer { stage: Stage::Crashing, due: soon, restarts }),
        None if text(pod, "spec.restartPolicy") == "Always" => {
            works.memory.pods.insert(uid, Timer { stage: Stage::Running, due: soon, restarts });
            None
        }
        None => {
            let due = Instant::now() + works.sim.options.job_run;
            wait(works, &uid, Timer { stage: Stage::Running, due, restarts })
        }
    }
}

/// The containers whose image cannot be pulled.
fn failing(works: &Works, pod: &Value) -> Vec<String> {
    let ails = |c: &&Value| works.sim.faults.ailment(c) == Some(Ailment::ImagePull);
    let containers = list(pod, "spec.initContainers").iter().chain(list(pod, "spec.containers"));
    containers.filter(ails).map(|c| text(c, "name").to_owned()).collect()
}

fn failing_images(works: &Works, pod: &Value) -> Vec<(String, String)> {
    let names = failing(works, pod);
    let containers = list(pod, "spec.initContainers").iter().chain(list(pod, "spec.containers"));
    let images = containers.filter(|c| names.iter().any(|n| n == text(c, "name"))).map(|c| text(c, "image"));
    images.map(|i| (i.to_owned(), report::pull_message(i))).collect()
}

fn pull_back_off(works: &mut Works, pod: &Value, timer: Timer) -> Option<Duration> {
    let (kind, uid) = (works.kind("", "Pod")?, object::uid(pod).to_owned());
    let now = works.sim.clock.stamp();
    works.status(&kind, pod, |live| container_states(live, Phase::PullBackOff(&failing(works, live)), &now));
    wait(works, &uid, Timer { stage: Stage::BackingOff, due: Instant::now() + RETRY, ..timer })
}

fn crash(works: &mut Works, pod: &Value, timer: Timer) -> Option<Duration> {
    let (kind, uid) = (works.kind("", "Pod")?, object::uid(pod).to_owned());
    let now = works.sim.clock.stamp();
    let memory = worst(works, pod) == Some(Ailment::OutOfMemory);
    let policy = text(pod, "spec.restartPolicy");
    if policy == "Never" {
        works.status(&kind, pod, |live| container_states(live, Phase::Failed { memory }, &now));
        return None;
    }
    let back_off = (CRASH_BACK_OFF * 2_u32.pow(timer.restarts.min(5))).min(MOST_BACK_OFF);
    let ailing: Vec<String> = list(pod, "spec.containers")
        .iter()
        .filter(|c| works.sim.faults.ailment(c).is_some_and(|a| a != Ailment::NeverReady))
        .map(|c| text(c, "name").to_owned())
        .collect();
    let phase = Phase::Crashed { memory, back_off, ailing: &ailing };
    works.status(&kind, pod, |live| container_states(live, phase, &now));
    let name = ailing.first().map_or("", String::as_str);
    let message = format!("Back-off restarting failed container {name} in pod {}", object::name(pod));
    events::tell(works, pod, ("Warning", "BackOff"), &message);
    let due = Instant::now() + back_off;
    wait(works, &uid, Timer { stage: Stage::CrashWait, due, restarts: timer.restarts + 1 })
}

/// A pod that runs to its end, as a Job's does.
fn run(works: &mut Works, pod: &Value) -> Option<Duration> {
    if text(pod, "spec.restartPolicy") == "Always" || !super::pods::ready(pod) {
        return None;
    }
    let kind = works.kind("", "Pod")?;
    let now = works.sim.clock.stamp();
    works.status(&kind, pod, |live| container_states(live, Phase::Succeeded, &now));
    None
}

fn stop(works: &mut Works, pod: &Value) -> Option<Duration> {
    let (kind, uid) = (works.kind("", "Pod")?, object::uid(pod).to_owned());
    let timer = works.memory.pods.get(&uid).copied().filter(|t| t.stage == Stage::Stopping);
    let Some(timer) = timer else {
        let due = Instant::now() + works.sim.options.pod_start / 4;
        let again = wait(works, &uid, Timer { stage: Stage::Stopping, due, restarts: 0 });
        return Some(again.unwrap_or_default());
    };
    if let Some(left) = works.until(timer.due) {
        return Some(left);
    }
    let options = serde_json::json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}});
    delete::by_system(&works.sim, &super::target(&kind, pod), &options);
    None
}

/// What a container wrote; nothing is run here, so it says so.
pub(crate) fn log(pod: &Value, container: &str) -> String {
    let name = object::name(pod);
    let first = list(pod, "spec.containers").first().map_or("", |c| text(c, "name"));
    let container = if container.is_empty() { first } else { container };
    let status = list(pod, "status.containerStatuses").iter().find(|s| text(s, "name") == container);
    let ended = status.map_or("", |s| text(s, "lastState.terminated.reason"));
    let mut out = format!("simulated container {container} of pod {name}\n");
    if !ended.is_empty() {
        out.push_str(&format!("ended with {ended}\n"));
    }
    out
}
