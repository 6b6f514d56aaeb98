//! Why a workload needs attention: a key that is equal on all clusters, and what people read.

use serde::{Deserialize, Serialize};

use super::IncidentKind;
use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::ObjectRef;
use crate::model::failure_cause::FailureCause;
use crate::model::git_status::{GitFollowStatus, GitRefStatus};
use crate::model::health::HealthStatus;
use crate::model::policy::DriftPolicy;
use crate::model::release::stage::StageReason;
use crate::model::release::{Release, StageName};
use crate::model::remote::short_commit;
use crate::model::report::ResourceStatus;
use crate::model::rollout::{Rollout, RolloutState};
use crate::text::name_list::join_first;

/// Longest sentence of a cause, in characters.
const MAX_MESSAGE_CHARS: usize = 400;
/// Longest key that is stored as it is, in bytes: names of Kubernetes give less, and an index has at most 2 704 bytes of it.
const MAX_KEY_BYTES: usize = 1_024;

/// The cause of an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IncidentCause {
    /// What it is about; a failure in what an earlier version stored.
    pub kind: IncidentKind,
    /// CamelCase reason, such as `ImagePullFailed`.
    pub reason: String,
    /// The object that fails or drifted, or the rollout that waits; `None` if it is the release or the workload as a whole.
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
    /// What identifies the cause on every cluster: kind, reason, object and container. Texts of the cluster, which contain names of pods
    /// and numbers, are no part of it. That of a failure has no kind, as in earlier versions.
    pub fn key(&self) -> String {
        let object = self.object.as_ref().map(|object| {
            [&object.group, &object.kind, &object.namespace, &object.name].map(String::as_str).join("/")
        });
        let kind = match self.kind {
            IncidentKind::Failure => String::new(),
            kind => format!("{}|", kind.as_str()),
        };
        let key = format!("{kind}{}|{}|{}", self.reason, object.unwrap_or_default(), self.container);
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
    let is_waiting = release.is_gated() || release.is_awaiting_dependency() || release.is_suspended();
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

/// Fields named in a sentence before the rest is only counted.
const NAMED_FIELDS: usize = 3;

/// Which objects of a release were changed on the cluster and stay so; never empty. Values are no part of it.
pub fn list_drift_causes(release: &Release, resources: &[ResourceStatus]) -> Vec<IncidentCause> {
    let hint = match release.policies().drift {
        DriftPolicy::Notify => {
            "The drift policy notify leaves these changes. Sync the cluster to revert them; add them to the draft and publish to retain \
             them; or ignore the fields in the policies."
        }
        DriftPolicy::Revert => {
            "They were reverted, and another manager changed them again each time, or the revert fails. Stop that manager and sync the \
             cluster, or ignore the fields in the policies."
        }
    };
    let drifted = resources.iter().filter_map(|resource| drift_cause(resource, hint));
    let mut causes: Vec<IncidentCause> = drifted.collect();
    if causes.is_empty() {
        let cause = IncidentCause::new("Drifted", None, &release.message(), hint);
        causes.push(IncidentCause { kind: IncidentKind::Drift, ..cause });
    }
    causes
}

fn drift_cause(resource: &ResourceStatus, hint: &str) -> Option<IncidentCause> {
    let fields = resource.list_drifted_fields();
    let manager = match fields.first()?.manager.as_str() {
        "" => String::new(),
        name => format!(" by {name}"),
    };
    let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
    let paths = join_first(&paths, NAMED_FIELDS);
    let message = format!("{}: {paths} changed{manager} and not reverted.", resource.object);
    let cause = IncidentCause::new("Drifted", Some(&resource.object), &message, hint);
    Some(IncidentCause { kind: IncidentKind::Drift, ..cause })
}

/// Why a rollout waits for a person. `None` while it goes on by itself, and if a person paused it, who decided that.
pub fn rollout_cause(rollout: &Rollout) -> Option<IncidentCause> {
    let wave = rollout.current_wave_label();
    let (reason, message, hint) = match &rollout.state {
        RolloutState::AwaitingApproval => (
            "AwaitingApproval",
            format!("{wave} waits for an approval."),
            "Approve the wave, or abort the rollout: flotilla rollout approve, or flotilla rollout abort.",
        ),
        RolloutState::AwaitingResultApproval => (
            "AwaitingResultApproval",
            format!("{wave} is operational, and its result waits for an approval."),
            "Approve the result, or abort the rollout: flotilla rollout approve, or flotilla rollout abort.",
        ),
        RolloutState::AwaitingClusters { deferred, limit } => (
            "AwaitingClusters",
            format!("{wave} waits for clusters: {deferred} are deferred, and it allows {limit}."),
            "Connect the clusters again, or promote the rollout to continue without them: flotilla rollout promote.",
        ),
        RolloutState::AutoPaused { message } => (
            "PausedAutomatically",
            format!("paused automatically at {wave}: {message}"),
            "Publish a corrected revision, or resume or abort the rollout: flotilla rollout resume, or flotilla rollout abort.",
        ),
        _ => return None,
    };
    let cause = IncidentCause::new(reason, Some(&rollout_ref(rollout)), &message, hint);
    Some(IncidentCause { kind: IncidentKind::Rollout, ..cause })
}

/// Why a rollout is rolled back, or was; `None` if it is not.
pub fn rollback_cause(rollout: &Rollout) -> Option<IncidentCause> {
    let message = match &rollout.state {
        RolloutState::RollingBack { .. } | RolloutState::RolledBack { .. } => rollout.message(rollout.since),
        _ => return None,
    };
    let hint = "Publish a corrected revision. The clusters stay at the revision of before until then: flotilla rollout status shows which.";
    let cause = IncidentCause::new("RolledBack", Some(&rollout_ref(rollout)), &message, hint);
    Some(IncidentCause { kind: IncidentKind::Rollback, ..cause })
}

/// What is known about a rollout whose clusters went offline after their admission; `None` without such clusters.
pub fn silence_cause(rollout: &Rollout) -> Option<IncidentCause> {
    let clusters = match rollout.count_silent() {
        0 => return None,
        1 => "1 cluster".to_owned(),
        many => format!("{many} clusters"),
    };
    let message = format!("{clusters} went offline after the admission, so it is not known what runs there.");
    let hint = "The revision may have cut them off: check the clusters and their agents. Roll back, or abort the rollout, before others get it.";
    let cause = IncidentCause::new("ClustersSilent", Some(&rollout_ref(rollout)), &message, hint);
    Some(IncidentCause { kind: IncidentKind::Silence, ..cause })
}

/// The rollout of a revision, which is another one after the next publish.
fn rollout_ref(rollout: &Rollout) -> ObjectRef {
    ObjectRef { kind: "Rollout".to_owned(), name: format!("r{}", rollout.revision), ..ObjectRef::default() }
}

/// Why a loop of the server fails with a workload; `message` is what it stored.
pub fn loop_cause(reason: &str, message: &str) -> IncidentCause {
    let hint = "The server tries again after a pause of up to five minutes, and what runs stays. Correct what the cause names; the log of the \
                server has the details.";
    IncidentCause { kind: IncidentKind::Loop, ..IncidentCause::new(reason, None, message, hint) }
}

/// Why what a draft follows is not read or not used, what decides first; empty if it is. `url` and `reference` name the ref.
pub fn source_causes(
    (url, reference): (&str, &str),
    status: &GitRefStatus,
    follow: &GitFollowStatus,
) -> Vec<IncidentCause> {
    let (url, reference) =
        (hide_login(url), if reference.is_empty() { "the default ref" } else { reference });
    let unreadable = status.failure.as_ref().map(|failure| {
        let message = format!("{reference} of {url} can't be read: {}", failure.message);
        IncidentCause::new("SourceUnreadable", None, &message, &failure.hint)
    });
    let blocked = follow.blocked.as_ref().map(|failure| {
        let commit = short_commit(&follow.commit);
        let message = format!(
            "{commit} of {reference} of {url} is blocked, and what runs is not changed: {}",
            failure.message
        );
        IncidentCause::new("CommitBlocked", None, &message, &failure.hint)
    });
    let causes = unreadable.into_iter().chain(blocked);
    causes.map(|cause| IncidentCause { kind: IncidentKind::Source, ..cause }).collect()
}

/// The URL without user name and password: a draft may have them until it is checked, and messages leave Flotilla. The user of SSH is no
/// secret.
fn hide_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| *scheme != "ssh") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}
