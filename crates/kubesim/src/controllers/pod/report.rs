//! The pod status that a kubelet reports in each state.

use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::conditions::{self, ConditionUpdate};
use crate::object::{self, array_at, i64_at, set_value, str_at};

/// The state of a pod.
#[derive(Clone, Copy, Debug)]
pub(super) enum PodState<'a> {
    Creating,
    /// These containers' images could not be pulled.
    PullFailed(&'a [String]),
    PullBackOff(&'a [String]),
    Running,
    RunningUnready,
    /// These containers terminated and will be restarted.
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

/// The container runtime's message for an image that does not exist.
pub(super) fn pull_error_message(image: &str) -> String {
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
pub(super) fn write_pod_status(pod: &mut Value, phase: PodState<'_>, now: &str) {
    let name = match phase {
        PodState::Creating | PodState::PullFailed(_) | PodState::PullBackOff(_) => "Pending",
        PodState::Running | PodState::RunningUnready | PodState::Crashed { .. } => "Running",
        PodState::Succeeded => "Succeeded",
        PodState::Failed { .. } => "Failed",
    };
    set_value(pod, "status.phase", name);
    let host = "172.18.0.2";
    object::set_default(pod, "status.hostIP", host);
    object::set_default(pod, "status.hostIPs", vec![json!({"ip": host})]);
    object::set_default(pod, "status.startTime", now);
    object::set_default(pod, "status.qosClass", qos_class(pod));
    for (field, statuses) in
        [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")]
    {
        let init = field == "initContainers";
        let containers = array_at(pod, &format!("spec.{field}")).to_vec();
        if containers.is_empty() {
            continue;
        }
        let before = array_at(pod, &format!("status.{statuses}")).to_vec();
        let all: Vec<Value> = containers
            .iter()
            .map(|c| {
                let old = before.iter().find(|s| str_at(s, "name") == str_at(c, "name"));
                container_status(c, old, (phase, init), now)
            })
            .collect();
        set_value(pod, &format!("status.{statuses}"), all);
    }
    write_pod_conditions(pod, phase, now);
}

fn qos_class(pod: &Value) -> &'static str {
    let containers = array_at(pod, "spec.containers");
    let set = |c: &Value, what: &str| {
        object::map_at(c, &format!("resources.{what}")).is_some_and(|m| !m.is_empty())
    };
    let guaranteed = |c: &Value| {
        let (requests, limits) =
            (object::value_at(c, "resources.requests"), object::value_at(c, "resources.limits"));
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

fn container_status(
    container: &Value,
    old: Option<&Value>,
    (phase, init): (PodState<'_>, bool),
    now: &str,
) -> Value {
    let (name, image) = (str_at(container, "name"), str_at(container, "image"));
    let concerned = |names: &[String]| names.iter().any(|n| n == name);
    let restarts = old.and_then(|o| i64_at(o, "restartCount")).unwrap_or(0);
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
            "containerID": format!("containerd://{}", crate::controllers::pods::short_hash(name)),
        }})
    };
    let running = |status: &mut Value, ready: bool| {
        let previous =
            old.filter(|o| object::value_at(o, "state.running").is_some()).map(|o| o["state"].clone());
        status["state"] = previous.unwrap_or_else(|| json!({"running": {"startedAt": now}}));
        status["ready"] = ready.into();
        status["started"] = true.into();
        status["imageID"] = format!("{image}@sha256:{}", crate::controllers::pods::short_hash(image)).into();
    };
    match phase {
        PodState::PullFailed(names) if concerned(names) => {
            status["state"] = waiting("ErrImagePull", pull_error_message(image))
        }
        PodState::PullBackOff(names) if concerned(names) => {
            let message =
                format!("Back-off pulling image \"{image}\": ErrImagePull: {}", pull_error_message(image));
            status["state"] = waiting("ImagePullBackOff", message);
        }
        PodState::Creating | PodState::PullFailed(_) | PodState::PullBackOff(_) => {
            status["state"] =
                waiting(if init { "PodInitializing" } else { "ContainerCreating" }, String::new());
        }
        _ if init => {
            status["state"] = ended("Completed", 0);
            status["ready"] = true.into();
        }
        PodState::Running => running(&mut status, true),
        PodState::RunningUnready => running(&mut status, false),
        PodState::Crashed { memory, back_off, ailing } if concerned(ailing) => {
            let (reason, code) = if memory { ("OOMKilled", 137) } else { ("Error", 1) };
            let message = format!("back-off {}s restarting failed container={name} pod", back_off.as_secs());
            status["state"] = waiting("CrashLoopBackOff", message);
            status["lastState"] = ended(reason, code);
            status["restartCount"] = (restarts + 1).into();
        }
        PodState::Crashed { .. } => running(&mut status, true),
        PodState::Succeeded => status["state"] = ended("Completed", 0),
        PodState::Failed { memory } => {
            status["state"] = if memory { ended("OOMKilled", 137) } else { ended("Error", 1) };
        }
    }
    status
}

fn write_pod_conditions(pod: &mut Value, phase: PodState<'_>, now: &str) {
    let ready = matches!(phase, PodState::Running);
    let started = !matches!(phase, PodState::Creating | PodState::PullFailed(_) | PodState::PullBackOff(_));
    let unready: Vec<&str> = array_at(pod, "status.containerStatuses")
        .iter()
        .filter(|s| !object::bool_at(s, "ready"))
        .map(|s| str_at(s, "name"))
        .collect();
    let (reason, message) = match phase {
        PodState::Running => ("", String::new()),
        PodState::Succeeded => ("PodCompleted", String::new()),
        PodState::Failed { .. } => ("PodFailed", String::new()),
        _ => ("ContainersNotReady", format!("containers with unready status: [{}]", unready.join(" "))),
    };
    let mut set = |kind: &str, status: bool, reason: &str, message: &str| {
        conditions::set_condition(pod, ConditionUpdate { kind, status, reason, message }, now, false);
    };
    set("PodReadyToStartContainers", started, "", "");
    set("Initialized", true, "", "");
    set("Ready", ready, reason, &message);
    set("ContainersReady", ready, reason, &message);
    set("PodScheduled", true, "", "");
    // Remove empty reasons and messages of conditions whose cause is over.
    if let Some(all) = object::value_at_mut(pod, "status.conditions").as_array_mut() {
        for condition in all.iter_mut() {
            for field in ["reason", "message"] {
                if str_at(condition, field).is_empty() {
                    object::remove_value(condition, field);
                }
            }
        }
    }
}
