//! Diagnosis of pods that do not run: root causes instead of symptoms.
//!
//! Pods with the same cause are aggregated. At most five causes are returned, worst and most frequent first.

use std::borrow::Borrow;

use domain::Timestamp;
use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
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

/// One cause, aggregated over all affected pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureCause {
    /// CamelCase reason, such as `ImagePullFailed` or `CrashLoop`.
    pub reason: &'static str,
    /// Resulting health status.
    pub status: HealthStatus,
    /// Description without the values that differ between pods.
    pub summary: String,
    /// Highest restart count of an affected container.
    pub restarts: i64,
    /// Number of affected pods.
    pub pods: u32,
}

impl FailureCause {
    /// Description with restarts and number of pods, for display.
    pub fn message(&self) -> String {
        let restarts = match self.restarts {
            0 => String::new(),
            1 => ", 1 restart".to_owned(),
            n => format!(", {n} restarts"),
        };
        let pods = if self.pods > 1 { format!(" ({} pods)", self.pods) } else { String::new() };
        format!("{}{restarts}{pods}", self.summary)
    }

    /// Whether an image can't be pulled.
    pub fn is_image_failure(&self) -> bool {
        matches!(self.reason, "ImagePullFailed" | "InvalidImageName")
    }
}

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
        Some(Health { status: worst.status, ..degraded(worst.reason, worst.message()) })
    }

    /// The causes, for display.
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
        let mut causes = find_causes(&pod);
        if causes.is_empty() && !pod.condition("Ready").is_some_and(|ready| ready.is_true()) {
            let is_about =
                |warning: &&Value| warning["involvedObject"]["uid"] == pod.object["metadata"]["uid"];
            let newest = warnings.iter().map(Borrow::borrow).filter(is_about);
            causes.extend(
                newest.max_by_key(|w| w["lastTimestamp"].as_str()).and_then(|w| warning_cause(&pod, w)),
            );
        }
        causes.into_iter().for_each(|cause| diagnosis.add(cause));
    }
    diagnosis
        .causes
        .sort_by(|a, b| b.status.cmp(&a.status).then(b.pods.cmp(&a.pods)).then(a.summary.cmp(&b.summary)));
    diagnosis.causes.truncate(CAUSES_MAX);
    diagnosis
}

impl Diagnosis {
    fn add(&mut self, cause: FailureCause) {
        let known = self
            .causes
            .iter_mut()
            .find(|known| known.reason == cause.reason && known.summary == cause.summary);
        match known {
            Some(known) => {
                known.pods += 1;
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
    let no_statuses = container_statuses(pod).next().is_none();
    let pending = matches!(pod.text("/status/phase"), "" | "Pending");
    pending && no_statuses
        || container_statuses(pod).any(|status| {
            matches!(waiting_reason(status), Some("" | "ContainerCreating" | "PodInitializing"))
        })
}

fn new_cause(reason: &'static str, status: HealthStatus, what: String) -> FailureCause {
    FailureCause { reason, status, summary: what, restarts: 0, pods: 1 }
}

fn find_causes(pod: &ObjectView<'_>) -> Vec<FailureCause> {
    let mut causes: Vec<FailureCause> =
        container_statuses(pod).filter_map(|status| container_cause(pod, status)).collect();
    causes.extend(scheduling_cause(pod));
    if pod.text("/status/phase") == "Failed" && causes.is_empty() {
        let reason = pod.text("/status/reason");
        let message = pod.text("/status/message");
        let what =
            format!("a pod failed{}", message_suffix(if message.is_empty() { reason } else { message }));
        // The pod's controller decides whether one failure matters.
        causes.push(new_cause("PodFailed", HealthStatus::Healthy, what));
    }
    causes
}

/// The cause of a warning, if the container states contain none.
fn warning_cause(pod: &ObjectView<'_>, warning: &Value) -> Option<FailureCause> {
    let message = warning["message"].as_str().unwrap_or_default();
    match warning["reason"].as_str()? {
        "FailedMount" | "FailedAttachVolume" => {
            // Mounts are often delayed; one that still fails after the grace period does not recover on its own.
            let is_overdue = pod.age() > MOUNT_GRACE;
            let status = if is_overdue { HealthStatus::Degraded } else { HealthStatus::Progressing };
            Some(new_cause(
                "FailedMount",
                status,
                format!("a volume cannot be mounted{}", message_suffix(message)),
            ))
        }
        "FailedCreatePodSandBox" => {
            let what = format!("its network cannot be set up{}", message_suffix(message));
            Some(new_cause("FailedSandbox", HealthStatus::Progressing, what))
        }
        "Unhealthy" => Some(new_cause(
            "ProbeFailed",
            HealthStatus::Progressing,
            format!("is not ready{}", message_suffix(message)),
        )),
        _ => None,
    }
}

fn scheduling_cause(pod: &ObjectView<'_>) -> Option<FailureCause> {
    let delay = SchedulingDelay::of_pod(pod)?;
    Some(new_cause(delay.reason, delay.status, truncate(&delay.message)))
}

fn container_cause(pod: &ObjectView<'_>, status: &Value) -> Option<FailureCause> {
    let name = status["name"].as_str().unwrap_or_default();
    let message = status.pointer("/state/waiting/message").and_then(Value::as_str).unwrap_or_default();
    let bad = |reason, what| Some(new_cause(reason, HealthStatus::Degraded, what));
    match waiting_reason(status) {
        Some(
            "ImagePullBackOff"
            | "ErrImagePull"
            | "ErrImageNeverPull"
            | "ImageInspectError"
            | "RegistryUnavailable",
        ) => bad(
            "ImagePullFailed",
            format!(
                "cannot pull image {}{}",
                container_image(pod, status),
                message_suffix(pull_message(message))
            ),
        ),
        Some("InvalidImageName") => {
            bad("InvalidImageName", format!("image name {} is not valid", container_image(pod, status)))
        }
        Some("CreateContainerConfigError") => {
            let what = format!(
                "container {name} references a ConfigMap or Secret that does not exist{}",
                message_suffix(message)
            );
            bad("ContainerConfigError", what)
        }
        Some("CrashLoopBackOff") => Some(crash_cause(pod, status)),
        Some(reason) if reason.ends_with("Error") => {
            bad("ContainerStartFailed", format!("container {name} cannot start{}", message_suffix(message)))
        }
        _ => recent_crash_cause(pod, status),
    }
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
    let restarts = status["restartCount"].as_i64().unwrap_or(0);
    let ended = status.pointer("/lastState/terminated").or_else(|| status.pointer("/state/terminated"));
    let Some(ended) = ended else {
        let crash =
            new_cause("CrashLoop", HealthStatus::Degraded, format!("container {name} keeps crashing"));
        return FailureCause { restarts, ..crash };
    };
    if ended["reason"] == "OOMKilled" {
        let limit = memory_limit(pod, name)
            .map_or("out of memory".to_owned(), |limit| format!("memory limit {limit}"));
        let crash =
            new_cause("OOMKilled", HealthStatus::Degraded, format!("container {name} was killed: {limit}"));
        return FailureCause { restarts, ..crash };
    }
    let code = ended["exitCode"].as_i64().unwrap_or(0);
    let output = ended["message"].as_str().unwrap_or_default().trim();
    let quote = match output.lines().last() {
        Some(line) if !line.is_empty() => format!(", last output {:?}", truncate(line)),
        _ => String::new(),
    };
    let crash =
        new_cause("CrashLoop", HealthStatus::Degraded, format!("container {name} exits with {code}{quote}"));
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
