//! What a kubelet reports of a pod in each phase.

use std::time::Duration;

use serde_json::{Value, json};

use crate::clockwork::conditions::{self, Condition};
use crate::object::{self, int, list, put, text};

/// Where a pod stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase<'a> {
    Creating,
    /// These containers' images could not be pulled.
    PullFailed(&'a [String]),
    PullBackOff(&'a [String]),
    Running,
    RunningUnready,
    /// These containers ended and will be started again.
    Crashed {
        memory: bool,
        back_off: Duration,
        ailing: &'a [String],
    },
    Succeeded,
    Failed {
        memory: bool,
    },
}

/// The runtime's words for an image that is not there.
pub(super) fn pull_message(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    let full =
        if last.contains(':') || image.contains('@') { image.to_owned() } else { format!("{image}:latest") };
    let full = match full.split_once('/') {
        Some((host, _)) if host.contains('.') || host.contains(':') => full,
        Some(_) => format!("docker.io/{full}"),
        None => format!("docker.io/library/{full}"),
    };
    format!(
        "rpc error: code = NotFound desc = failed to pull and unpack image \"{full}\": failed to resolve reference \
         \"{full}\": {full}: not found"
    )
}

/// Writes phase, conditions and container states.
pub(super) fn container_states(pod: &mut Value, phase: Phase<'_>, now: &str) {
    let name = match phase {
        Phase::Creating | Phase::PullFailed(_) | Phase::PullBackOff(_) => "Pending",
        Phase::Running | Phase::RunningUnready | Phase::Crashed { .. } => "Running",
        Phase::Succeeded => "Succeeded",
        Phase::Failed { .. } => "Failed",
    };
    put(pod, "status.phase", name);
    let host = "172.18.0.2";
    object::put_default(pod, "status.hostIP", host);
    object::put_default(pod, "status.hostIPs", vec![json!({"ip": host})]);
    object::put_default(pod, "status.startTime", now);
    object::put_default(pod, "status.qosClass", qos(pod));
    for (field, statuses) in
        [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")]
    {
        let init = field == "initContainers";
        let containers = list(pod, &format!("spec.{field}")).to_vec();
        if containers.is_empty() {
            continue;
        }
        let before = list(pod, &format!("status.{statuses}")).to_vec();
        let all: Vec<Value> = containers
            .iter()
            .map(|c| {
                let old = before.iter().find(|s| text(s, "name") == text(c, "name"));
                container(c, old, (phase, init), now)
            })
            .collect();
        put(pod, &format!("status.{statuses}"), all);
    }
    pod_conditions(pod, phase, now);
}

fn qos(pod: &Value) -> &'static str {
    let containers = list(pod, "spec.containers");
    let set =
        |c: &Value, what: &str| object::map(c, &format!("resources.{what}")).is_some_and(|m| !m.is_empty());
    let guaranteed = |c: &Value| {
        let (requests, limits) = (object::at(c, "resources.requests"), object::at(c, "resources.limits"));
        limits.is_some_and(|l| l.get("cpu").is_some() && l.get("memory").is_some()) && requests == limits
    };
    if containers.iter().all(guaranteed) {
        "Guaranteed"
    } else if containers.iter().any(|c| set(c, "requests") || set(c, "limits")) {
        "Burstable"
    } else {
        "BestEffort"
    }
}

fn container(container: &Value, old: Option<&Value>, (phase, init): (Phase<'_>, bool), now: &str) -> Value {
    let (name, image) = (text(container, "name"), text(container, "image"));
    let concerned = |names: &[String]| names.iter().any(|n| n == name);
    let restarts = old.and_then(|o| int(o, "restartCount")).unwrap_or(0);
    let mut status = json!({
        "name": name, "image": image, "imageID": "", "ready": false, "restartCount": restarts, "started": false,
        "state": {}, "lastState": old.and_then(|o| o.get("lastState")).cloned().unwrap_or_else(|| json!({})),
    });
    let waiting = |reason: &str, message: String| {
        if message.is_empty() {
            json!({"waiting": {"reason": reason}})
        } else {
            json!({"waiting": {"reason": reason, "message": message}})
        }
    };
    let ended = |reason: &str, code: i64| {
        json!({"terminated": {
            "reason": reason, "exitCode": code, "startedAt": now, "finishedAt": now,
            "containerID": format!("containerd://{}", crate::clockwork::pods::hash(name)),
        }})
    };
    let running = |status: &mut Value, ready: bool| {
        let kept = old.filter(|o| object::at(o, "state.running").is_some()).map(|o| o["state"].clone());
        status["state"] = kept.unwrap_or_else(|| json!({"running": {"startedAt": now}}));
        status["ready"] = ready.into();
        status["started"] = true.into();
        status["imageID"] = format!("{image}@sha256:{}", crate::clockwork::pods::hash(image)).into();
    };
    match phase {
        Phase::PullFailed(names) if concerned(names) => {
            status["state"] = waiting("ErrImagePull", pull_message(image))
        }
        Phase::PullBackOff(names) if concerned(names) => {
            let message =
                format!("Back-off pulling image \"{image}\": ErrImagePull: {}", pull_message(image));
            status["state"] = waiting("ImagePullBackOff", message);
        }
        Phase::Creating | Phase::PullFailed(_) | Phase::PullBackOff(_) => {
            status["state"] =
                waiting(if init { "PodInitializing" } else { "ContainerCreating" }, String::new());
        }
        _ if init => {
            status["state"] = ended("Completed", 0);
            status["ready"] = true.into();
        }
        Phase::Running => running(&mut status, true),
        Phase::RunningUnready => running(&mut status, false),
        Phase::Crashed { memory, back_off, ailing } if concerned(ailing) => {
            let (reason, code) = if memory { ("OOMKilled", 137) } else { ("Error", 1) };
            let message = format!("back-off {}s restarting failed container={name} pod", back_off.as_secs());
            status["state"] = waiting("CrashLoopBackOff", message);
            status["lastState"] = ended(reason, code);
            status["restartCount"] = (restarts + 1).into();
        }
        Phase::Crashed { .. } => running(&mut status, true),
        Phase::Succeeded => status["state"] = ended("Completed", 0),
        Phase::Failed { memory } => {
            status["state"] = if memory { ended("OOMKilled", 137) } else { ended("Error", 1) };
        }
    }
    status
}

fn pod_conditions(pod: &mut Value, phase: Phase<'_>, now: &str) {
    let ready = matches!(phase, Phase::Running);
    let started = !matches!(phase, Phase::Creating | Phase::PullFailed(_) | Phase::PullBackOff(_));
    let unready: Vec<&str> = list(pod, "status.containerStatuses")
        .iter()
        .filter(|s| !object::flag(s, "ready"))
        .map(|s| text(s, "name"))
        .collect();
    let (reason, message) = match phase {
        Phase::Running => ("", String::new()),
        Phase::Succeeded => ("PodCompleted", String::new()),
        Phase::Failed { .. } => ("PodFailed", String::new()),
        _ => ("ContainersNotReady", format!("containers with unready status: [{}]", unready.join(" "))),
    };
    let mut set = |kind: &str, status: bool, reason: &str, message: &str| {
        conditions::set(pod, Condition { kind, status, reason, message }, now, false);
    };
    set("PodReadyToStartContainers", started, "", "");
    set("Initialized", true, "", "");
    set("Ready", ready, reason, &message);
    set("ContainersReady", ready, reason, &message);
    set("PodScheduled", true, "", "");
    // A cause that is over leaves no text behind.
    if let Some(all) = object::place(pod, "status.conditions").as_array_mut() {
        for condition in all.iter_mut() {
            for field in ["reason", "message"] {
                if text(condition, field).is_empty() {
                    object::remove(condition, field);
                }
            }
        }
    }
}
