//! Pods that are part of a bundle.

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
use super::{MINUTE_MILLIS, degraded, healthy, progressing};

/// Not scheduled for longer is degraded, in milliseconds: autoscalers and provisioners of volumes need minutes.
const SCHEDULING_GRACE: i64 = 5 * MINUTE_MILLIS;

/// Why a pod has no node yet.
pub(super) struct SchedulingDelay {
    /// `Unschedulable`, `VolumePending` or `SchedulingGated`.
    pub reason: &'static str,
    pub status: HealthStatus,
    /// What it waits for, with the scheduler's message.
    pub message: String,
}

impl SchedulingDelay {
    /// The delay that the scheduler reports; `None` if it reports none.
    pub(super) fn of_pod(view: &ObjectView<'_>) -> Option<Self> {
        let condition = view.condition("PodScheduled").filter(|condition| condition.is_false())?;
        if condition.reason == "SchedulingGated" {
            let message = "waits for its scheduling gates to be removed".to_owned();
            return Some(Self { reason: "SchedulingGated", status: HealthStatus::Progressing, message });
        }
        let is_overdue = view.age() > SCHEDULING_GRACE;
        let status = if is_overdue { HealthStatus::Degraded } else { HealthStatus::Progressing };
        let text = match condition.message {
            "" => String::new(),
            text => format!(": {text}"),
        };
        if !text.to_ascii_lowercase().contains("persistentvolumeclaim") {
            return Some(Self {
                reason: "Unschedulable",
                status,
                message: format!("cannot be scheduled{text}"),
            });
        }
        let claims: Vec<&str> = view
            .list("/spec/volumes")
            .iter()
            .filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str())
            .collect();
        let message = match claims.as_slice() {
            [] => format!("waits for a volume{text}"),
            [one] => format!("waits for the volume of claim {one}{text}"),
            many => format!("waits for the volumes of claims {}{text}", many.join(", ")),
        };
        Some(Self { reason: "VolumePending", status, message })
    }
}

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if restarts_always(view)
        && let Some(health) = assess_waiting(view)
    {
        return health;
    }
    match view.text("/status/phase") {
        "Pending" => pending(view),
        "Running" => running(view),
        "Succeeded" => healthy("completed"),
        "Failed" => failed(view),
        other => Health::new(HealthStatus::Unknown, "UnknownPhase", format!("phase is {other:?}")),
    }
}

fn restarts_always(view: &ObjectView<'_>) -> bool {
    matches!(view.text("/spec/restartPolicy"), "" | "Always")
}

fn container_statuses<'a>(view: &ObjectView<'a>) -> impl Iterator<Item = &'a Value> {
    view.list("/status/initContainerStatuses").iter().chain(view.list("/status/containerStatuses"))
}

fn assess_waiting(view: &ObjectView<'_>) -> Option<Health> {
    let waiting = || container_statuses(view).filter_map(|status| status.pointer("/state/waiting"));
    let is_error =
        |reason: &str| reason.starts_with("Err") || reason.ends_with("Error") || reason.ends_with("BackOff");
    let bad: Vec<&Value> =
        waiting().filter(|waiting| waiting["reason"].as_str().is_some_and(is_error)).collect();
    let reason = bad.first()?["reason"].as_str().unwrap_or_default();
    let messages: Vec<&str> = bad.iter().filter_map(|waiting| waiting["message"].as_str()).collect();
    Some(degraded(reason, messages.join(", ")))
}

fn pending(view: &ObjectView<'_>) -> Health {
    match SchedulingDelay::of_pod(view) {
        Some(delay) => Health::new(delay.status, delay.reason, delay.message),
        None => progressing("PodPending", "is being started"),
    }
}

fn running(view: &ObjectView<'_>) -> Health {
    if !restarts_always(view) {
        return progressing("PodRunning", "is running to completion");
    }
    if view.condition("Ready").is_some_and(|c| c.is_true()) {
        return healthy("");
    }
    let ended = container_statuses(view).find_map(|status| status.pointer("/lastState/terminated"));
    match ended {
        Some(ended) => degraded("ContainerRestarted", termination(ended, "a container")),
        None => progressing("PodNotReady", "is not ready"),
    }
}

fn failed(view: &ObjectView<'_>) -> Health {
    let message = view.text("/status/message");
    if !message.is_empty() {
        return degraded("PodFailed", message);
    }
    for status in container_statuses(view) {
        let Some(ended) = status.pointer("/state/terminated").filter(|ended| ended["exitCode"] != 0) else {
            continue;
        };
        let name = status["name"].as_str().unwrap_or_default();
        return degraded("PodFailed", termination(ended, &format!("container {name:?}")));
    }
    match view.text("/status/reason") {
        "" => degraded("PodFailed", "failed without a message"),
        reason => degraded("PodFailed", reason),
    }
}

fn termination(ended: &Value, subject: &str) -> String {
    if let Some(message) = ended["message"].as_str().filter(|message| !message.is_empty()) {
        return message.to_owned();
    }
    if ended["reason"] == "OOMKilled" {
        return format!("{subject} was killed: out of memory (OOMKilled)");
    }
    format!("{subject} failed with exit code {}", ended["exitCode"].as_i64().unwrap_or_default())
}
