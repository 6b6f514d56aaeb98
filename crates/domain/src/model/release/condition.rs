//! Conditions of a release and of each of its objects, in Kubernetes' form (S3-4, S3-5).
//!
//! They are derived here from stages, axes and resources and never stored, so they cannot contradict these
//! (docs/decisions/0010-records-carry-the-hub-hash-and-conditions-are-derived.md).

use super::{Release, ReleaseGoal, ReleaseState, Stage, StageName, StageState, SyncStatus};
use crate::model::cluster::Connectivity;
use crate::model::condition::{Condition, ConditionStatus, ConditionType};
use crate::model::health::{COMPLETED, HealthStatus};

use crate::model::report::ResourceStatus;

#[cfg(test)]
mod tests;

/// The conditions of a release. `resources` may be empty in lists; `Available` then follows from the release's health.
pub fn release_conditions(release: &Release, resources: &[ResourceStatus]) -> Vec<Condition> {
    let generation = release.generation();
    // A new generation resets the agent's stages; a finished first stage proves a report about this generation.
    let observed = release
        .stages()
        .get(StageName::Notified)
        .state
        .is_finished()
        .then_some(generation)
        .filter(|at| *at > 0);
    let hub_conditions = [
        stage_condition(release, StageName::Placed, ConditionType::Scheduled),
        stage_condition(release, StageName::Rendered, ConditionType::Rendered),
        stage_condition(release, StageName::Released, ConditionType::Released),
        reachable_condition(release),
        deleting_condition(release),
    ];
    let agent_conditions = [
        stage_condition(release, StageName::Pulled, ConditionType::Synchronized),
        applied_condition(release),
        available_condition(release, resources),
        progressing_condition(release),
        degraded_condition(release),
        healthy_condition(release),
        stage_condition(release, StageName::Pruned, ConditionType::Pruned),
        not_drifted_condition(release),
        complete_condition(release),
    ];
    let mut all: Vec<Condition> = hub_conditions
        .into_iter()
        .map(|condition| Condition { observed_generation: Some(generation), ..condition })
        .chain(
            agent_conditions
                .into_iter()
                .map(|condition| Condition { observed_generation: observed, ..condition }),
        )
        .collect();
    all.sort_by_key(|condition| condition.kind);
    all
}

fn stage_condition(release: &Release, name: StageName, kind: ConditionType) -> Condition {
    let Stage { state, started_at, finished_at, .. } = release.stages().get(name);
    let condition = match state {
        StageState::Done => Condition::new(kind, true, "Done", name.description()),
        StageState::Skipped { message } => Condition::new(kind, true, "Skipped", message),
        StageState::Pending => Condition::new(kind, None, "Pending", ""),
        StageState::Running { message } => Condition::new(kind, false, "Running", message),
        StageState::Waiting(stage_reason) | StageState::Failed(stage_reason) => {
            Condition::new(kind, false, stage_reason.reason.as_str(), &stage_reason.message)
        }
    };
    condition.with_transition_time(finished_at.or(*started_at))
}

fn applied_condition(release: &Release) -> Condition {
    let stage = stage_condition(release, StageName::Applied, ConditionType::Applied);
    let is_all = release.applied().is_some() && release.applied() == release.released();
    match &release.stages().get(StageName::Applied).state {
        StageState::Done | StageState::Skipped { .. } if is_all && release.is_present() => {
            Condition { reason: "AppliedManifestWorkComplete".to_owned(), ..stage }
        }
        StageState::Failed(stage_reason) => Condition {
            reason: "AppliedManifestWorkFailed".to_owned(),
            message: format!("{}: {}", stage_reason.reason, stage_reason.message),
            ..stage
        },
        state if state.is_finished() => {
            Condition { status: ConditionStatus::False, reason: "NotComplete".to_owned(), ..stage }
        }
        StageState::Pending if release.applied().is_some() && !is_all => Condition {
            status: ConditionStatus::False,
            reason: "OlderApplied".to_owned(),
            message: "The cluster still runs an older bundle.".to_owned(),
            ..stage
        },
        _ => stage,
    }
}

fn available_condition(release: &Release, resources: &[ResourceStatus]) -> Condition {
    let kind = ConditionType::Available;
    if resources.is_empty() {
        return match release.health().status {
            HealthStatus::Missing => {
                Condition::new(kind, false, "ResourcesNotAvailable", &release.health().message)
            }
            _ if release.applied().is_some() && release.sync() == SyncStatus::Synced => {
                Condition::new(kind, true, "ResourcesAvailable", "")
            }
            _ => Condition::new(kind, None, "ResourcesStatusUnknown", ""),
        }
        .with_transition_time(release.health().since);
    }
    let missing: Vec<&ResourceStatus> = resources.iter().filter(|one| one.available != Some(true)).collect();
    let since = |all: &[&ResourceStatus]| all.iter().filter_map(|one| one.since.available).max();
    match missing.as_slice() {
        [] => Condition::new(kind, true, "ResourcesAvailable", "Every object exists.")
            .with_transition_time(since(&resources.iter().collect::<Vec<_>>())),
        absent if absent.iter().any(|one| one.available == Some(false)) => {
            let first =
                absent.iter().find(|one| one.available == Some(false)).map(|one| one.object.to_string());
            let message = format!(
                "{} of {} objects do not exist, among them {}.",
                absent.len(),
                resources.len(),
                first.unwrap_or_default()
            );
            Condition::new(kind, false, "ResourcesNotAvailable", &message).with_transition_time(since(absent))
        }
        _ => Condition::new(kind, None, "ResourcesStatusUnknown", "Not every object has been observed yet."),
    }
}

fn progressing_condition(release: &Release) -> Condition {
    let state = release.last_known_state();
    let is = state.is_in_transition()
        || matches!(state, ReleaseState::Removing | ReleaseState::Terminating | ReleaseState::Stale);
    Condition::new(
        ConditionType::Progressing,
        is,
        state.as_str(),
        if is { release.message() } else { String::new() }.as_str(),
    )
    .with_transition_time(Some(release.state_since()))
}

fn degraded_condition(release: &Release) -> Condition {
    let state = release.last_known_state();
    let kind = ConditionType::Degraded;
    let condition = match state {
        ReleaseState::Degraded | ReleaseState::Failed | ReleaseState::Blocked => {
            let reason = match release.stages().current().and_then(|stage| stage.state.reason()) {
                Some(current) => current.reason.specified(),
                None => Some(release.health().reason.as_str()).filter(|reason| !reason.is_empty()),
            };
            Condition::new(kind, true, reason.unwrap_or(state.as_str()), &release.last_known_message())
        }
        _ => Condition::new(kind, false, "NothingWrong", ""),
    };
    condition.with_transition_time(Some(release.state_since()))
}

fn healthy_condition(release: &Release) -> Condition {
    let health = &release.health();
    let is = match health.status {
        HealthStatus::Unknown | HealthStatus::NotAssessed => None,
        status => Some(status == HealthStatus::Healthy),
    };
    let reason = if health.reason.is_empty() { health.status.as_str() } else { &health.reason };
    Condition::new(ConditionType::Healthy, is, reason, &health.message).with_transition_time(health.since)
}

fn not_drifted_condition(release: &Release) -> Condition {
    let kind = ConditionType::NotDrifted;
    match (release.sync(), release.applied().is_some()) {
        (SyncStatus::Drifted, _) => {
            Condition::new(kind, false, "Drifted", "Objects were changed after they were applied.")
        }
        (_, true) => Condition::new(kind, true, "AsApplied", ""),
        (_, false) => Condition::new(kind, None, "NothingApplied", ""),
    }
}

fn reachable_condition(release: &Release) -> Condition {
    let (is, reason, message) = match release.connectivity() {
        Connectivity::Online => (true, "Online", ""),
        Connectivity::Late => (true, "Late", "The last heartbeat of the cluster is older than its lease."),
        Connectivity::Offline => {
            (false, "Offline", "The cluster is offline; the values are the last that its agent reported.")
        }
    };
    Condition::new(ConditionType::Reachable, is, reason, message).with_transition_time(release.reported_at())
}

fn complete_condition(release: &Release) -> Condition {
    let health = &release.health();
    let is = health.status == HealthStatus::Healthy && health.reason == COMPLETED;
    let kind = ConditionType::Complete;
    if is {
        Condition::new(kind, true, COMPLETED, &health.message).with_transition_time(health.since)
    } else {
        Condition::new(kind, false, "NotComplete", "")
    }
}

fn deleting_condition(release: &Release) -> Condition {
    let kind = ConditionType::Deleting;
    match &release.goal() {
        ReleaseGoal::Removing { since, message: why, .. } => {
            let stage_reason = release.stages().get(StageName::Pruned).state.reason();
            let (reason, message) = stage_reason.map_or(("Removing", why), |stage_reason| {
                (stage_reason.reason.as_str(), &stage_reason.message)
            });
            Condition::new(kind, true, reason, message).with_transition_time(Some(*since))
        }
        ReleaseGoal::Present => Condition::new(kind, false, "NotDeleting", ""),
        ReleaseGoal::Removed { since }
        | ReleaseGoal::Orphaned { since }
        | ReleaseGoal::Abandoned { since } => {
            Condition::new(kind, false, release.last_known_state().as_str(), "")
                .with_transition_time(Some(*since))
        }
    }
}

/// The conditions of one object (S3-5).
pub fn resource_conditions(resource: &ResourceStatus) -> Vec<Condition> {
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
        HealthStatus::Unknown | HealthStatus::NotAssessed => None,
        status => Some(status == HealthStatus::Healthy),
    };
    let reason = if health.reason.is_empty() { health.status.as_str() } else { &health.reason };
    let healthy = Condition::new(ConditionType::Healthy, is_healthy, reason, &health.message);
    let fields = resource.drifted.join(", ");
    let drifted = match fields.is_empty() {
        true => Condition::new(ConditionType::Drifted, false, "AsApplied", ""),
        false => Condition::new(ConditionType::Drifted, true, "FieldsChanged", &fields),
    };
    vec![
        applied.with_transition_time(resource.since.applied),
        available.with_transition_time(resource.since.available),
        healthy.with_transition_time(health.since),
        drifted.with_transition_time(resource.since.drifted),
    ]
}
