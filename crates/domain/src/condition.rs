//! Conditions: what is known of a release and of each of its objects, in the form Kubernetes people and tools know
//! (`product.md` F.4; S3-4, S3-5).
//!
//! They are derived in this one place from stages, axes and resources, and stored nowhere, so they can't disagree with
//! what the rest of the product says.

use serde::{Deserialize, Serialize};

use crate::cluster::Reach;
use crate::health::{COMPLETED, HealthStatus};
use crate::release::{Release, ReleaseGoal, Stage, StageName, StageState, State, Sync};
use crate::report::ResourceStatus;
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ConditionType {
    /// The placement chose the cluster.
    Scheduled,
    /// The manifests are rendered for the cluster.
    Rendered,
    /// The cluster may have it now.
    Released,
    /// The agent holds what it should apply.
    Synchronized,
    /// Everything is applied, as of the observed generation (S3-4).
    Applied,
    /// Every object exists on the cluster; that says nothing of its health (S3-4).
    Available,
    /// It is on its way to what is wanted.
    Progressing,
    /// Something is broken or missing, or a stage failed.
    Degraded,
    /// Operational.
    Healthy,
    /// Nothing of earlier revisions is left.
    Pruned,
    /// Nobody changed what was applied.
    NotDrifted,
    /// Somebody changed what was applied; of objects only.
    Drifted,
    /// The cluster is heard from.
    Reachable,
    /// Everything in it that runs has run to its end; it is not applied again.
    Complete,
    /// It is being removed.
    Deleting,
}

/// Whether it is so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ConditionStatus {
    /// Yes.
    True,
    /// No.
    False,
    /// Nobody knows.
    #[default]
    Unknown,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Whether it is so.
    pub status: ConditionStatus,
    /// CamelCase reason; never empty.
    pub reason: String,
    /// The sentence people read; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The generation of the release it was seen for; absent while the cluster has not spoken about the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Since when the status is what it is, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
}

impl Condition {
    fn new(kind: ConditionType, is: impl Into<ConditionStatus>, reason: &str, message: &str) -> Self {
        Self {
            kind,
            status: is.into(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: None,
            last_transition_time: None,
        }
    }

    fn since(self, at: Option<Timestamp>) -> Self {
        Self { last_transition_time: at, ..self }
    }

    /// Whether it is so.
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

impl From<bool> for ConditionStatus {
    fn from(is: bool) -> Self {
        if is { Self::True } else { Self::False }
    }
}

impl From<Option<bool>> for ConditionStatus {
    fn from(is: Option<bool>) -> Self {
        is.map_or(Self::Unknown, Self::from)
    }
}

/// The conditions of a release. `resources` may be empty where a list does without them; then what can only be seen
/// object by object follows from the release's health.
pub fn of_release(release: &Release, resources: &[ResourceStatus]) -> Vec<Condition> {
    let generation = release.generation;
    // A new generation puts the agent's stages back; the first that is not pending is the agent's word about it.
    let observed =
        release.stages.get(StageName::Notified).state.is_over().then_some(generation).filter(|at| *at > 0);
    let of_hub = [
        of_stage(release, StageName::Placed, ConditionType::Scheduled),
        of_stage(release, StageName::Rendered, ConditionType::Rendered),
        of_stage(release, StageName::Released, ConditionType::Released),
        reachable(release),
        deleting(release),
    ];
    let of_agent = [
        of_stage(release, StageName::Pulled, ConditionType::Synchronized),
        applied(release),
        available(release, resources),
        progressing(release),
        degraded(release),
        healthy(release),
        of_stage(release, StageName::Pruned, ConditionType::Pruned),
        not_drifted(release),
        complete(release),
    ];
    let mut all: Vec<Condition> = of_hub
        .into_iter()
        .map(|condition| Condition { observed_generation: Some(generation), ..condition })
        .chain(of_agent.into_iter().map(|condition| Condition { observed_generation: observed, ..condition }))
        .collect();
    all.sort_by_key(|condition| condition.kind);
    all
}

fn of_stage(release: &Release, name: StageName, kind: ConditionType) -> Condition {
    let Stage { state, started_at, finished_at, .. } = release.stages.get(name);
    let condition = match state {
        StageState::Done => Condition::new(kind, true, "Done", name.sentence()),
        StageState::Skipped { message } => Condition::new(kind, true, "Skipped", message),
        StageState::Pending => Condition::new(kind, None, "Pending", ""),
        StageState::Running { message } => Condition::new(kind, false, "Running", message),
        StageState::Waiting(trouble) | StageState::Failed(trouble) => {
            Condition::new(kind, false, &trouble.reason, &trouble.message)
        }
    };
    condition.since(finished_at.or(*started_at))
}

fn applied(release: &Release) -> Condition {
    let stage = of_stage(release, StageName::Applied, ConditionType::Applied);
    let is_all = release.applied.is_some() && release.applied == release.released;
    match &release.stages.get(StageName::Applied).state {
        StageState::Done | StageState::Skipped { .. } if is_all && release.goal == ReleaseGoal::Present => {
            Condition { reason: "AppliedManifestWorkComplete".to_owned(), ..stage }
        }
        StageState::Failed(trouble) => Condition {
            reason: "AppliedManifestWorkFailed".to_owned(),
            message: format!("{}: {}", trouble.reason, trouble.message),
            ..stage
        },
        state if state.is_over() => {
            Condition { status: ConditionStatus::False, reason: "NotComplete".to_owned(), ..stage }
        }
        StageState::Pending if release.applied.is_some() && !is_all => Condition {
            status: ConditionStatus::False,
            reason: "OlderApplied".to_owned(),
            message: "The cluster still runs an older bundle.".to_owned(),
            ..stage
        },
        _ => stage,
    }
}

fn available(release: &Release, resources: &[ResourceStatus]) -> Condition {
    let kind = ConditionType::Available;
    if resources.is_empty() {
        return match release.health.status {
            HealthStatus::Missing => {
                Condition::new(kind, false, "ResourcesNotAvailable", &release.health.message)
            }
            _ if release.applied.is_some() && release.sync == Sync::Synced => {
                Condition::new(kind, true, "ResourcesAvailable", "")
            }
            _ => Condition::new(kind, None, "ResourcesStatusUnknown", ""),
        }
        .since(release.health.since);
    }
    let missing: Vec<&ResourceStatus> = resources.iter().filter(|one| one.available != Some(true)).collect();
    let since = |all: &[&ResourceStatus]| all.iter().filter_map(|one| one.since.available).max();
    match missing.as_slice() {
        [] => Condition::new(kind, true, "ResourcesAvailable", "Every object exists.")
            .since(since(&resources.iter().collect::<Vec<_>>())),
        gone if gone.iter().any(|one| one.available == Some(false)) => {
            let first =
                gone.iter().find(|one| one.available == Some(false)).map(|one| one.object.to_string());
            let message = format!(
                "{} of {} objects do not exist, among them {}.",
                gone.len(),
                resources.len(),
                first.unwrap_or_default()
            );
            Condition::new(kind, false, "ResourcesNotAvailable", &message).since(since(gone))
        }
        _ => Condition::new(kind, None, "ResourcesStatusUnknown", "Not every object was looked at yet."),
    }
}

fn progressing(release: &Release) -> Condition {
    let state = release.last_known_state();
    let is = state.is_moving() || matches!(state, State::Removing | State::Terminating | State::Stale);
    Condition::new(
        ConditionType::Progressing,
        is,
        state.word(),
        if is { release.message() } else { String::new() }.as_str(),
    )
    .since(Some(release.state_since))
}

fn degraded(release: &Release) -> Condition {
    let state = release.last_known_state();
    let kind = ConditionType::Degraded;
    let condition = match state {
        State::Degraded | State::Failed | State::Blocked => {
            let known = Release { reach: Reach::Online, ..release.clone() };
            let reason =
                known.stages.current().and_then(|stage| stage.state.trouble()).map(|t| t.reason.clone());
            let reason = reason.unwrap_or_else(|| known.health.reason.clone());
            let reason = if reason.is_empty() { state.word().to_owned() } else { reason };
            Condition::new(kind, true, &reason, &known.message())
        }
        _ => Condition::new(kind, false, "NothingWrong", ""),
    };
    condition.since(Some(release.state_since))
}

fn healthy(release: &Release) -> Condition {
    let health = &release.health;
    let is = match health.status {
        HealthStatus::Unknown => None,
        status => Some(status == HealthStatus::Healthy),
    };
    let reason = if health.reason.is_empty() { health.status.word() } else { &health.reason };
    Condition::new(ConditionType::Healthy, is, reason, &health.message).since(health.since)
}

fn not_drifted(release: &Release) -> Condition {
    let kind = ConditionType::NotDrifted;
    match (release.sync, release.applied.is_some()) {
        (Sync::Drifted, _) => {
            Condition::new(kind, false, "Drifted", "Somebody changed objects after they were applied.")
        }
        (_, true) => Condition::new(kind, true, "AsApplied", ""),
        (_, false) => Condition::new(kind, None, "NothingApplied", ""),
    }
}

fn reachable(release: &Release) -> Condition {
    let (is, reason, message) = match release.reach {
        Reach::Online => (true, "Online", ""),
        Reach::Late => (true, "Late", "The cluster is late with its lease."),
        Reach::Offline => {
            (false, "Offline", "The cluster is not heard from; what its agent said last is what is shown.")
        }
    };
    Condition::new(ConditionType::Reachable, is, reason, message).since(release.reported_at)
}

fn complete(release: &Release) -> Condition {
    let health = &release.health;
    let is = health.status == HealthStatus::Healthy && health.reason == COMPLETED;
    let kind = ConditionType::Complete;
    if is {
        Condition::new(kind, true, COMPLETED, &health.message).since(health.since)
    } else {
        Condition::new(kind, false, "NotComplete", "")
    }
}

fn deleting(release: &Release) -> Condition {
    let kind = ConditionType::Deleting;
    match &release.goal {
        ReleaseGoal::Removing { since, why, .. } => {
            let trouble = release.stages.get(StageName::Pruned).state.trouble();
            let (reason, message) =
                trouble.map_or(("Removing", why), |trouble| (trouble.reason.as_str(), &trouble.message));
            Condition::new(kind, true, reason, message).since(Some(*since))
        }
        ReleaseGoal::Present => Condition::new(kind, false, "Wanted", ""),
        ReleaseGoal::Removed { since }
        | ReleaseGoal::Orphaned { since }
        | ReleaseGoal::Abandoned { since } => {
            Condition::new(kind, false, release.last_known_state().word(), "").since(Some(*since))
        }
    }
}

/// The conditions of one object (S3-5).
pub fn of_resource(resource: &ResourceStatus) -> Vec<Condition> {
    let applied = match (&resource.problem, resource.applied) {
        (_, true) => {
            Condition::new(ConditionType::Applied, true, "AppliedManifestComplete", "Apply manifest complete")
        }
        (Some(problem), false) => Condition::new(
            ConditionType::Applied,
            false,
            "AppliedManifestFailed",
            &format!("{}: {}", problem.code, problem.message),
        ),
        (None, false) => {
            Condition::new(ConditionType::Applied, false, "NotAppliedYet", &resource.health.message)
        }
    };
    let (reason, message) = match resource.available {
        Some(true) => ("ResourceAvailable", "Resource is available"),
        Some(false) => ("ResourceNotAvailable", "Resource is not available"),
        None => ("ResourceStatusUnknown", ""),
    };
    let available = Condition::new(ConditionType::Available, resource.available, reason, message);
    let health = &resource.health;
    let is_healthy = match health.status {
        HealthStatus::Unknown => None,
        status => Some(status == HealthStatus::Healthy),
    };
    let reason = if health.reason.is_empty() { health.status.word() } else { &health.reason };
    let healthy = Condition::new(ConditionType::Healthy, is_healthy, reason, &health.message);
    let fields = resource.drifted.join(", ");
    let drifted = match fields.is_empty() {
        true => Condition::new(ConditionType::Drifted, false, "AsApplied", ""),
        false => Condition::new(ConditionType::Drifted, true, "FieldsChanged", &fields),
    };
    vec![
        applied.since(resource.since.applied),
        available.since(resource.since.available),
        healthy.since(health.since),
        drifted.since(resource.since.drifted),
    ]
}
