//! Why a release fails: a key that is equal on all clusters, and what people read.

use serde::{Deserialize, Serialize};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::ObjectRef;
use crate::model::failure_cause::FailureCause;
use crate::model::health::HealthStatus;
use crate::model::release::stage::StageReason;
use crate::model::release::{Release, StageName};
use crate::model::report::ResourceStatus;

/// Longest sentence of a cause, in characters.
const MAX_MESSAGE_CHARS: usize = 400;
/// Longest key that is stored as it is, in bytes: names of Kubernetes give less, and an index has at most 2 704 bytes of it.
const MAX_KEY_BYTES: usize = 1_024;

/// The cause of an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IncidentCause {
    /// CamelCase reason, such as `ImagePullFailed`.
    pub reason: String,
    /// The object that fails; `None` if it is the release as a whole.
    pub object: Option<ObjectRef>,
    /// The container that fails; empty if it is no container.
    pub container: String,
    /// A pod that fails, where the cause was found first; no part of the key.
    pub pod: String,
    /// A sentence for people; no part of the key.
    pub message: String,
    /// What to do about it; no part of the key.
    pub hint: String,
}

impl IncidentCause {
    /// What identifies the cause on every cluster: reason, object and container. Texts of the cluster, which contain names of pods
    /// and numbers, are no part of it.
    pub fn key(&self) -> String {
        let object = self.object.as_ref().map(|object| {
            [&object.group, &object.kind, &object.namespace, &object.name].map(String::as_str).join("/")
        });
        let key = format!("{}|{}|{}", self.reason, object.unwrap_or_default(), self.container);
        // Names from a cluster: a digest stands for those that are too long for an index.
        if key.len() > MAX_KEY_BYTES { Digest::compute(key.as_bytes()).to_string() } else { key }
    }

    /// The object, as messages name it.
    pub fn object_name(&self) -> String {
        self.object.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    fn new(reason: &str, object: Option<&ObjectRef>, message: &str, hint: &str) -> Self {
        let message = match object {
            Some(object) if !message.contains(&object.name) => format!("{object}: {message}"),
            _ => message.to_owned(),
        };
        Self {
            reason: if reason.is_empty() { "Failed".to_owned() } else { reason.to_owned() },
            object: object.cloned(),
            message: message.chars().take(MAX_MESSAGE_CHARS).collect(),
            hint: hint.to_owned(),
            ..Self::default()
        }
    }

    fn from_pods(resource: &ResourceStatus, cause: &FailureCause) -> Self {
        let reason = if cause.reason.is_empty() { &resource.health.reason } else { &cause.reason };
        let container = match cause.container.as_str() {
            "" => String::new(),
            name => format!("container {name} "),
        };
        let message = format!("{}: {container}{}", resource.object, cause.summary);
        Self {
            container: cause.container.clone(),
            pod: cause.pod.clone(),
            ..Self::new(reason, Some(&resource.object), &message, cause.remedy().unwrap_or_default())
        }
    }
}

/// Why a release fails, what decides first; empty unless it fails. Its objects are those of the last report.
pub fn list_causes(release: &Release, resources: &[ResourceStatus]) -> Vec<IncidentCause> {
    if !release.state().is_failing() {
        return Vec::new();
    }
    let stage = release.stages().current();
    let blocked = stage.and_then(|stage| Some((stage.name, stage.state.reason()?)));
    // A stage before the objects run explains more than their health, which is that of an earlier bundle.
    let is_before_pods = blocked.is_some_and(|(name, _)| name < StageName::ImagesPulled);
    // What the next revision waits for is no cause: what fails is the earlier one.
    let is_waiting = release.is_gated() || release.is_awaiting_dependency();
    let mut causes = Vec::new();
    if let Some((_, reason)) = blocked.filter(|_| is_before_pods && !is_waiting) {
        causes.push(stage_cause(reason, resources));
    }
    causes.extend(resources.iter().flat_map(resource_causes));
    if causes.is_empty() {
        causes.push(match blocked {
            Some((_, reason)) if !is_waiting => stage_cause(reason, resources),
            _ => IncidentCause::new(&release.health().reason, None, &release.message(), ""),
        });
    }
    causes
}

fn stage_cause(reason: &StageReason, resources: &[ResourceStatus]) -> IncidentCause {
    let failed = resources.iter().find_map(|one| Some((&one.object, one.problem.as_ref()?)));
    let hint = failed.map_or("", |(_, problem)| problem.hint.as_str());
    IncidentCause::new(reason.reason.as_str(), failed.map(|(object, _)| object), reason.text(), hint)
}

fn resource_causes(resource: &ResourceStatus) -> Vec<IncidentCause> {
    if !matches!(resource.health.status, HealthStatus::Degraded | HealthStatus::Missing) {
        return Vec::new();
    }
    let causes = resource.list_causes();
    if causes.is_empty() {
        let health = &resource.health;
        let reason = if health.reason.is_empty() { health.status.as_str() } else { &health.reason };
        let message =
            if health.message.is_empty() { "it is not healthy.".to_owned() } else { health.message.clone() };
        return vec![IncidentCause::new(reason, Some(&resource.object), &message, "")];
    }
    causes.iter().map(|cause| IncidentCause::from_pods(resource, cause)).collect()
}
