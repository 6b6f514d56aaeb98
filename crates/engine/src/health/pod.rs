//! Pods that are part of a bundle.

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing};

/// Unschedulable for longer is degraded, in milliseconds; the scheduler retries until then.
pub(super) const SCHEDULING_GRACE: i64 = 15_000;

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
    let unschedulable =
        view.condition("PodScheduled").filter(|c| c.is_false() && c.reason == "Unschedulable");
    match unschedulable {
        Some(condition) if view.age() > SCHEDULING_GRACE => degraded("PodUnschedulable", condition.message),
        Some(condition) => progressing("PodUnschedulable", condition.message),
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
    degraded("PodFailed", "failed without a message")
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
