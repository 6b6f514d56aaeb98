//! Diagnosis of pods that do not run: root causes instead of symptoms.
//!
//! Pods with the same cause are aggregated. At most five causes are returned, worst and most frequent first.

use std::borrow::Borrow;

use domain::Timestamp;
use domain::failure_cause::{FailureCause, ImagePullError};
use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
use super::outdated_pods::OutdatedPodHandling;
use super::pod::SchedulingDelay;
use super::{MINUTE_MILLIS, degraded};

/// Max number of returned causes.
const CAUSES_MAX: usize = 5;
/// A crash older than this does not explain why a container is not ready, in milliseconds.
const CRASH_WINDOW: i64 = 10 * MINUTE_MILLIS;
/// Grace period for mounting a volume, in milliseconds.
const MOUNT_GRACE: i64 = 2 * MINUTE_MILLIS;
/// Longest quoted message, in characters.
const QUOTE_MAX: usize = 300;

/// Diagnosis of the pods of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Causes, worst first.
    pub causes: Vec<FailureCause>,
    /// Number of diagnosed pods; terminating ones are excluded.
    pub pods: u32,
    /// Number of pods whose containers are still being created.
    pub starting: u32,
}

impl Diagnosis {
    /// The worst cause as a health; `None` without a cause worse than healthy.
    pub fn health(&self) -> Option<Health> {
        let worst = self.causes.first().filter(|cause| cause.status > HealthStatus::Healthy)?;
        Some(Health { status: worst.status, ..degraded(&worst.reason, worst.message()) })
    }

    /// The causes as one line each.
    pub fn messages(&self) -> Vec<String> {
        self.causes.iter().map(FailureCause::message).collect()
    }
}

/// Diagnoses the pods of one object, with the warnings (`v1/WatcherEvent`) about them.
pub fn diagnose<'a>(
    pods: impl IntoIterator<Item = &'a Value>,
    warnings: &[impl Borrow<Value>],
    now: Timestamp,
) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    for object in pods {
        let pod = ObjectView { object, has_status: true, now };
        if pod.has("/metadata/deletionTimestamp") {
            continue;
        }
        diagnosis.pods += 1;
        if is_starting(&pod) {
            diagnosis.starting += 1;
        }
        find_causes_with_warnings(&pod, warnings).into_iter().for_each(|cause| diagnosis.add(cause));
    }
    diagnosis.sort_causes();
    diagnosis
}

/// The causes of one pod; the newest warning about it is one if its containers report none.
fn find_causes_with_warnings(pod: &ObjectView<'_>, warnings: &[impl Borrow<Value>]) -> Vec<FailureCause> {
    let mut causes = find_causes(pod);
    if causes.is_empty() && !is_ready(pod) {
        let is_about = |warning: &&Value| warning["involvedObject"]["uid"] == pod.object["metadata"]["uid"];
        let newest = warnings.iter().map(Borrow::borrow).filter(is_about);
        causes.extend(newest.max_by_key(|w| w["lastTimestamp"].as_str()).and_then(|w| warning_cause(pod, w)));
    }
    causes
}

fn is_ready(pod: &ObjectView<'_>) -> bool {
    pod.condition("Ready").is_some_and(|ready| ready.is_true())
}

impl Diagnosis {
    /// Adds the pods of earlier revisions that their controller has not replaced. One that is not ready has one cause: that its
    /// revision is an earlier one, and what becomes of it. What fails in it is the detail.
    pub(crate) fn add_outdated<'a>(
        &mut self,
        controller: &Value,
        pods: impl IntoIterator<Item = &'a Value>,
        warnings: &[impl Borrow<Value>],
        now: Timestamp,
    ) {
        let handling = OutdatedPodHandling::of_controller(controller);
        for object in pods {
            let pod = ObjectView { object, has_status: true, now };
            if pod.has("/metadata/deletionTimestamp") {
                continue;
            }
            self.pods += 1;
            if is_ready(&pod) {
                continue;
            }
            // Its successor does not exist yet: nothing is known of the images of the desired revision there.
            self.starting += 1;
            let causes = find_causes_with_warnings(&pod, warnings);
            let worst = causes.into_iter().max_by_key(|cause| cause.status);
            let cause = match worst {
                Some(cause) => cause,
                None if is_starting(&pod) => continue,
                None => {
                    let not_ready = ("PodNotReady", HealthStatus::Progressing);
                    new_cause(&pod, not_ready, "is not ready".to_owned(), "")
                }
            };
            self.add(handling.replace_cause(pod.text("/metadata/name"), &cause));
        }
        self.sort_causes();
    }

    fn sort_causes(&mut self) {
        self.causes.sort_by(|a, b| {
            b.status.cmp(&a.status).then(b.pods.cmp(&a.pods)).then(a.summary.cmp(&b.summary))
        });
        self.causes.truncate(CAUSES_MAX);
    }

    fn add(&mut self, cause: FailureCause) {
        let is_same = |known: &&mut FailureCause| {
            (&known.reason, &known.container, &known.summary)
                == (&cause.reason, &cause.container, &cause.summary)
        };
        match self.causes.iter_mut().find(is_same) {
            Some(known) => {
                known.pods += 1;
                // The first name, so that the order in which pods are observed changes nothing.
                known.pod = std::cmp::min(std::mem::take(&mut known.pod), cause.pod);
                known.restarts = known.restarts.max(cause.restarts);
                known.status = known.status.max(cause.status);
            }
            None => self.causes.push(cause),
        }
    }
}

fn container_statuses<'a>(pod: &ObjectView<'a>) -> impl Iterator<Item = &'a Value> {
    pod.list("/status/initContainerStatuses").iter().chain(pod.list("/status/containerStatuses"))
}

fn waiting_reason(status: &Value) -> Option<&str> {
    status.pointer("/state/waiting").map(|waiting| waiting["reason"].as_str().unwrap_or_default())
}

fn is_starting(pod: &ObjectView<'_>) -> bool {
    if matches!(pod.text("/status/phase"), "Failed" | "Succeeded") {
        return false;
    }
    let no_statuses = container_statuses(pod).next().is_none();
    let pending = matches!(pod.text("/status/phase"), "" | "Pending");
    pending && no_statuses
        || container_statuses(pod).any(|status| {
            matches!(waiting_reason(status), Some("" | "ContainerCreating" | "PodInitializing"))
        })
}

/// A cause of one pod. `message` is what the cluster reported; it is the detail unless the summary has all of it.
fn new_cause(
    pod: &ObjectView<'_>,
    (reason, status): (&str, HealthStatus),
    summary: String,
    message: &str,
) -> FailureCause {
    let message = message.trim();
    FailureCause {
        reason: reason.to_owned(),
        status,
        detail: if summary.contains(message) { String::new() } else { message.to_owned() },
        summary,
        pod: pod.text("/metadata/name").to_owned(),
        container: String::new(),
        restarts: 0,
        pods: 1,
    }
}

fn find_causes(pod: &ObjectView<'_>) -> Vec<FailureCause> {
    let mut causes: Vec<FailureCause> =
        container_statuses(pod).filter_map(|status| container_cause(pod, status)).collect();
    causes.extend(scheduling_cause(pod));
    if pod.text("/status/phase") != "Failed" {
        return causes;
    }
    // It never runs again, and its controller has replaced it: whether that matters is what the controller reports.
    causes.iter_mut().for_each(|cause| cause.status = HealthStatus::Healthy);
    if causes.is_empty() {
        let reason = pod.text("/status/reason");
        let message = pod.text("/status/message");
        let message = if message.is_empty() { reason } else { message };
        let summary = format!("a pod failed{}", message_suffix(message));
        causes.push(new_cause(pod, ("PodFailed", HealthStatus::Healthy), summary, message));
    }
    causes
}

/// The cause of a warning, if the container states contain none.
fn warning_cause(pod: &ObjectView<'_>, warning: &Value) -> Option<FailureCause> {
    let message = warning["message"].as_str().unwrap_or_default();
    let (reason, status, what) = match warning["reason"].as_str()? {
        "FailedMount" | "FailedAttachVolume" => {
            // Mounts are often delayed; one that still fails after the grace period does not recover on its own.
            let is_overdue = pod.age() > MOUNT_GRACE;
            let status = if is_overdue { HealthStatus::Degraded } else { HealthStatus::Progressing };
            ("FailedMount", status, "a volume cannot be mounted")
        }
        "FailedCreatePodSandBox" => {
            ("FailedSandbox", HealthStatus::Progressing, "its network cannot be set up")
        }
        "Unhealthy" => ("ProbeFailed", HealthStatus::Progressing, "is not ready"),
        _ => return None,
    };
    Some(new_cause(pod, (reason, status), format!("{what}{}", message_suffix(message)), message))
}

fn scheduling_cause(pod: &ObjectView<'_>) -> Option<FailureCause> {
    let delay = SchedulingDelay::of_pod(pod)?;
    Some(new_cause(pod, (delay.reason, delay.status), truncate(&delay.message), &delay.message))
}

fn container_cause(pod: &ObjectView<'_>, status: &Value) -> Option<FailureCause> {
    let message = status.pointer("/state/waiting/message").and_then(Value::as_str).unwrap_or_default();
    let (reason, what) = match waiting_reason(status) {
        Some(
            "ImagePullBackOff"
            | "ErrImagePull"
            | "ErrImageNeverPull"
            | "ImageInspectError"
            | "RegistryUnavailable",
        ) => return Some(image_pull_cause(pod, status, pull_message(message))),
        Some("InvalidImageName") => {
            ("InvalidImageName", format!("image name {} is not valid", container_image(pod, status)))
        }
        Some("CreateContainerConfigError") => (
            "ContainerConfigError",
            format!("references a ConfigMap or Secret that does not exist{}", message_suffix(message)),
        ),
        Some("CrashLoopBackOff") => return Some(crash_cause(pod, status)),
        Some(reason) if reason.ends_with("Error") => {
            ("ContainerStartFailed", format!("cannot start{}", message_suffix(message)))
        }
        _ => return recent_crash_cause(pod, status),
    };
    Some(container_failure(pod, status, reason, what, message))
}

/// A cause in a container that degrades its pod.
fn container_failure(
    pod: &ObjectView<'_>,
    status: &Value,
    reason: &str,
    summary: String,
    message: &str,
) -> FailureCause {
    let container = status["name"].as_str().unwrap_or_default().to_owned();
    FailureCause { container, ..new_cause(pod, (reason, HealthStatus::Degraded), summary, message) }
}

/// A message that is recognised is replaced by a few words; the whole message is the detail.
fn image_pull_cause(pod: &ObjectView<'_>, status: &Value, message: &str) -> FailureCause {
    let why = match ImagePullError::from_message(message) {
        Some(error) => format!(": {}", error.label()),
        None => message_suffix(message),
    };
    let summary = format!("cannot pull image {}{why}", container_image(pod, status));
    container_failure(pod, status, "ImagePullFailed", summary, message)
}

/// A container that is running between two crashes is still reported as crashing.
fn recent_crash_cause(pod: &ObjectView<'_>, status: &Value) -> Option<FailureCause> {
    if status["ready"] == true || pod.text("/spec/restartPolicy") == "Never" {
        return None;
    }
    let ended = [status.pointer("/state/terminated"), status.pointer("/lastState/terminated")]
        .into_iter()
        .flatten()
        .find(|ended| ended["exitCode"].as_i64().unwrap_or(0) != 0)?;
    let finished: Timestamp = ended["finishedAt"].as_str()?.parse().ok()?;
    (pod.now.millis_since(finished) < CRASH_WINDOW).then(|| crash_cause(pod, status))
}

fn crash_cause(pod: &ObjectView<'_>, status: &Value) -> FailureCause {
    let name = status["name"].as_str().unwrap_or_default();
    let restarts = status["restartCount"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let ended = status.pointer("/lastState/terminated").or_else(|| status.pointer("/state/terminated"));
    let Some(ended) = ended else {
        let crash = container_failure(pod, status, "CrashLoop", "keeps crashing".to_owned(), "");
        return FailureCause { restarts, ..crash };
    };
    let output = ended["message"].as_str().unwrap_or_default().trim();
    if ended["reason"] == "OOMKilled" {
        let limit = memory_limit(pod, name)
            .map_or("out of memory".to_owned(), |limit| format!("memory limit {limit}"));
        let crash = container_failure(pod, status, "OOMKilled", format!("was killed: {limit}"), output);
        return FailureCause { restarts, ..crash };
    }
    let code = ended["exitCode"].as_i64().unwrap_or(0);
    let quote = match output.lines().last() {
        Some(line) if !line.is_empty() => format!(", last output {:?}", truncate(line)),
        _ => String::new(),
    };
    let crash = container_failure(pod, status, "CrashLoop", format!("exits with {code}{quote}"), output);
    FailureCause { restarts, ..crash }
}

fn container_spec<'a>(pod: &ObjectView<'a>, name: &str) -> Option<&'a Value> {
    let containers = pod.list("/spec/containers").iter().chain(pod.list("/spec/initContainers"));
    containers.into_iter().find(|container| container["name"] == name)
}

fn memory_limit(pod: &ObjectView<'_>, name: &str) -> Option<String> {
    Some(container_spec(pod, name)?.pointer("/resources/limits/memory")?.as_str()?.to_owned())
}

/// The image as specified, else as reported.
fn container_image(pod: &ObjectView<'_>, status: &Value) -> String {
    let specified = container_spec(pod, status["name"].as_str().unwrap_or_default())
        .and_then(|container| container["image"].as_str());
    specified.or_else(|| status["image"].as_str()).unwrap_or_default().to_owned()
}

/// The cause in a pull message; a back-off message contains that of the last attempt or nothing beyond the reason.
fn pull_message(message: &str) -> &str {
    match message.split_once("ErrImagePull: ") {
        Some((_, cause)) => cause,
        None if message.starts_with("Back-off pulling image") => "",
        None => message,
    }
}

fn message_suffix(message: &str) -> String {
    if message.trim().is_empty() { String::new() } else { format!(": {}", truncate(message.trim())) }
}

fn truncate(text: &str) -> String {
    if text.chars().count() <= QUOTE_MAX {
        return text.to_owned();
    }
    text.chars().take(QUOTE_MAX).chain(['…']).collect()
}
