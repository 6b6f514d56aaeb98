//! Why pods do not run: the cause, not the symptom (`health.md` C.3).
//!
//! Pods with the same cause are counted together, and at most five causes are told, worst and most frequent first.

use std::borrow::Borrow;

use domain::Timestamp;
use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::pod::SCHEDULING_GRACE;
use super::view::View;
use super::{MINUTE, degraded};

/// Most causes told.
const CAUSES_MAX: usize = 5;
/// A crash further back than this no longer explains why a container is not ready.
const CRASH_MEMORY: i64 = 10 * MINUTE;
/// A volume may take so long to be attached.
const MOUNT_GRACE: i64 = 2 * MINUTE;
/// Longest last message quoted, in characters.
const QUOTE_MAX: usize = 200;

/// One cause over all pods that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// CamelCase reason, such as `ImagePullFailed` or `CrashLoop`.
    pub reason: &'static str,
    /// How bad.
    pub status: HealthStatus,
    /// What is wrong, without the numbers that differ from pod to pod.
    pub what: String,
    /// Most restarts of any of the containers.
    pub restarts: i64,
    /// Number of pods.
    pub pods: u32,
}

impl Cause {
    /// The sentence people read.
    pub fn sentence(&self) -> String {
        let restarts = match self.restarts {
            0 => String::new(),
            1 => ", 1 restart".to_owned(),
            n => format!(", {n} restarts"),
        };
        let pods = if self.pods > 1 { format!(" ({} pods)", self.pods) } else { String::new() };
        format!("{}{restarts}{pods}", self.what)
    }

    /// Whether it is an image that can't be had.
    pub fn is_about_image(&self) -> bool {
        matches!(self.reason, "ImagePullFailed" | "InvalidImageName")
    }
}

/// What the pods of one object say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Causes, worst first.
    pub causes: Vec<Cause>,
    /// Pods looked at; those on their way out are not.
    pub pods: u32,
    /// Pods whose containers are still being created.
    pub starting: u32,
}

impl Diagnosis {
    /// The worst cause as a health; `None` if nothing is wrong.
    pub fn health(&self) -> Option<Health> {
        let worst = self.causes.first().filter(|cause| cause.status > HealthStatus::Healthy)?;
        Some(Health { status: worst.status, ..degraded(worst.reason, worst.sentence()) })
    }

    /// The causes as sentences.
    pub fn sentences(&self) -> Vec<String> {
        self.causes.iter().map(Cause::sentence).collect()
    }
}

/// Looks at the pods of one object and at the warnings (`v1/Event`) about them.
pub fn diagnose<'a>(
    pods: impl IntoIterator<Item = &'a Value>,
    warnings: &[impl Borrow<Value>],
    now: Timestamp,
) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    for object in pods {
        let pod = View { object, now };
        if pod.has("/metadata/deletionTimestamp") {
            continue;
        }
        diagnosis.pods += 1;
        if is_starting(&pod) {
            diagnosis.starting += 1;
        }
        let mut causes = causes_of(&pod);
        if causes.is_empty() && !pod.condition("Ready").is_some_and(|ready| ready.is_true()) {
            let about = |warning: &&Value| warning["involvedObject"]["uid"] == pod.object["metadata"]["uid"];
            let newest = warnings.iter().map(Borrow::borrow).filter(about);
            causes.extend(newest.max_by_key(|w| w["lastTimestamp"].as_str()).and_then(|w| warned(&pod, w)));
        }
        causes.into_iter().for_each(|cause| diagnosis.add(cause));
    }
    diagnosis
        .causes
        .sort_by(|a, b| b.status.cmp(&a.status).then(b.pods.cmp(&a.pods)).then(a.what.cmp(&b.what)));
    diagnosis.causes.truncate(CAUSES_MAX);
    diagnosis
}

impl Diagnosis {
    fn add(&mut self, cause: Cause) {
        let known =
            self.causes.iter_mut().find(|known| known.reason == cause.reason && known.what == cause.what);
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

fn statuses<'a>(pod: &View<'a>) -> impl Iterator<Item = &'a Value> {
    pod.list("/status/initContainerStatuses").iter().chain(pod.list("/status/containerStatuses"))
}

fn waiting(status: &Value) -> Option<&str> {
    status.pointer("/state/waiting").map(|waiting| waiting["reason"].as_str().unwrap_or_default())
}

fn is_starting(pod: &View<'_>) -> bool {
    let no_statuses = statuses(pod).next().is_none();
    let pending = matches!(pod.text("/status/phase"), "" | "Pending");
    pending && no_statuses
        || statuses(pod)
            .any(|status| matches!(waiting(status), Some("" | "ContainerCreating" | "PodInitializing")))
}

fn cause(reason: &'static str, status: HealthStatus, what: String) -> Cause {
    Cause { reason, status, what, restarts: 0, pods: 1 }
}

fn causes_of(pod: &View<'_>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = statuses(pod).filter_map(|status| of_container(pod, status)).collect();
    causes.extend(unschedulable(pod));
    if pod.text("/status/phase") == "Failed" && causes.is_empty() {
        let reason = pod.text("/status/reason");
        let message = pod.text("/status/message");
        let what = format!("a pod failed{}", tail(if message.is_empty() { reason } else { message }));
        // Whoever owns the pod decides whether one failure matters.
        causes.push(cause("PodFailed", HealthStatus::Healthy, what));
    }
    causes
}

/// What a warning adds when the containers themselves say nothing.
fn warned(pod: &View<'_>, warning: &Value) -> Option<Cause> {
    let message = warning["message"].as_str().unwrap_or_default();
    match warning["reason"].as_str()? {
        "FailedMount" | "FailedAttachVolume" => {
            // Volumes are often late; one that is still missing after a while is not coming by itself.
            let late = pod.age() > MOUNT_GRACE;
            let status = if late { HealthStatus::Degraded } else { HealthStatus::Progressing };
            Some(cause("FailedMount", status, format!("a volume cannot be mounted{}", tail(message))))
        }
        "FailedCreatePodSandBox" => {
            let what = format!("its network cannot be set up{}", tail(message));
            Some(cause("FailedSandbox", HealthStatus::Progressing, what))
        }
        "Unhealthy" => {
            Some(cause("ProbeFailed", HealthStatus::Progressing, format!("is not ready{}", tail(message))))
        }
        _ => None,
    }
}

fn unschedulable(pod: &View<'_>) -> Option<Cause> {
    let condition = pod.condition("PodScheduled").filter(|c| c.is_false() && c.reason == "Unschedulable")?;
    let status =
        if pod.age() > SCHEDULING_GRACE { HealthStatus::Degraded } else { HealthStatus::Progressing };
    Some(cause("Unschedulable", status, format!("cannot be scheduled{}", tail(condition.message))))
}

fn of_container(pod: &View<'_>, status: &Value) -> Option<Cause> {
    let name = status["name"].as_str().unwrap_or_default();
    let message = status.pointer("/state/waiting/message").and_then(Value::as_str).unwrap_or_default();
    let bad = |reason, what| Some(cause(reason, HealthStatus::Degraded, what));
    match waiting(status) {
        Some(
            "ImagePullBackOff"
            | "ErrImagePull"
            | "ErrImageNeverPull"
            | "ImageInspectError"
            | "RegistryUnavailable",
        ) => bad(
            "ImagePullFailed",
            format!("cannot pull image {}{}", image(pod, status), tail(pull_message(message))),
        ),
        Some("InvalidImageName") => {
            bad("InvalidImageName", format!("image name {} is not valid", image(pod, status)))
        }
        Some("CreateContainerConfigError") => {
            let what = format!(
                "container {name} references a ConfigMap or Secret that is not there{}",
                tail(message)
            );
            bad("ContainerConfigError", what)
        }
        Some("CrashLoopBackOff") => Some(crash(pod, status)),
        Some(reason) if reason.ends_with("Error") => {
            bad("ContainerStartFailed", format!("container {name} cannot start{}", tail(message)))
        }
        _ => recent_crash(pod, status),
    }
}

/// Between two crashes a container runs for a moment; that does not make it well.
fn recent_crash(pod: &View<'_>, status: &Value) -> Option<Cause> {
    if status["ready"] == true || pod.text("/spec/restartPolicy") == "Never" {
        return None;
    }
    let ended = [status.pointer("/state/terminated"), status.pointer("/lastState/terminated")]
        .into_iter()
        .flatten()
        .find(|ended| ended["exitCode"].as_i64().unwrap_or(0) != 0)?;
    let finished: Timestamp = ended["finishedAt"].as_str()?.parse().ok()?;
    (pod.now.since(finished) < CRASH_MEMORY).then(|| crash(pod, status))
}

fn crash(pod: &View<'_>, status: &Value) -> Cause {
    let name = status["name"].as_str().unwrap_or_default();
    let restarts = status["restartCount"].as_i64().unwrap_or(0);
    let ended = status.pointer("/lastState/terminated").or_else(|| status.pointer("/state/terminated"));
    let Some(ended) = ended else {
        let crash = cause("CrashLoop", HealthStatus::Degraded, format!("container {name} keeps crashing"));
        return Cause { restarts, ..crash };
    };
    if ended["reason"] == "OOMKilled" {
        let limit = memory_limit(pod, name)
            .map_or("out of memory".to_owned(), |limit| format!("memory limit {limit}"));
        let crash =
            cause("OOMKilled", HealthStatus::Degraded, format!("container {name} was killed: {limit}"));
        return Cause { restarts, ..crash };
    }
    let code = ended["exitCode"].as_i64().unwrap_or(0);
    let said = ended["message"].as_str().unwrap_or_default().trim();
    let quote = match said.lines().last() {
        Some(line) if !line.is_empty() => format!(", last said {:?}", short(line)),
        _ => String::new(),
    };
    let crash =
        cause("CrashLoop", HealthStatus::Degraded, format!("container {name} exits with {code}{quote}"));
    Cause { restarts, ..crash }
}

fn spec<'a>(pod: &View<'a>, name: &str) -> Option<&'a Value> {
    let containers = pod.list("/spec/containers").iter().chain(pod.list("/spec/initContainers"));
    containers.into_iter().find(|container| container["name"] == name)
}

fn memory_limit(pod: &View<'_>, name: &str) -> Option<String> {
    Some(spec(pod, name)?.pointer("/resources/limits/memory")?.as_str()?.to_owned())
}

/// The image as it was asked for.
fn image(pod: &View<'_>, status: &Value) -> String {
    let asked = spec(pod, status["name"].as_str().unwrap_or_default())
        .and_then(|container| container["image"].as_str());
    asked.or_else(|| status["image"].as_str()).unwrap_or_default().to_owned()
}

/// A back-off says what the last try said, or nothing that the reason does not say already.
fn pull_message(message: &str) -> &str {
    match message.split_once("ErrImagePull: ") {
        Some((_, cause)) => cause,
        None if message.starts_with("Back-off pulling image") => "",
        None => message,
    }
}

fn tail(message: &str) -> String {
    if message.trim().is_empty() { String::new() } else { format!(": {}", short(message.trim())) }
}

fn short(text: &str) -> String {
    if text.chars().count() <= QUOTE_MAX {
        return text.to_owned();
    }
    text.chars().take(QUOTE_MAX).chain(['…']).collect()
}
