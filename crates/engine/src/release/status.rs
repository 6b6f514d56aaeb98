//! The last two stages: all images are pulled, and all objects are healthy (S0-8, S0-9).

use std::sync::Arc;
use std::time::Duration;

use domain::bundle::owns_pods;
use domain::health::{Health, HealthStatus, worst_health};
use domain::policy::collect_feedback;
use domain::release::stage::StageReason;
use domain::release::{Reason, StageName, StageState};
use serde_json::Value;

use super::expire;
use super::reconciliation::Reconciliation;
use crate::desired_object::IGNORE_HEALTH_ANNOTATION;
use crate::health::{self, Diagnosis, ImagePullStatus};
use crate::observe::deployment_revision;

/// Interval of the time-dependent health rules while an object is not healthy.
const RECHECK: Duration = Duration::from_secs(5);

/// Assesses the health of every object and derives both stages.
pub(crate) fn run(pass: &mut Reconciliation<'_>) {
    let mut images = ImagePullStatus::default();
    for at in 0..pass.targets.len() {
        assess_target(pass, at, &mut images);
    }
    let overall = overall_health(pass);
    if pass.targets.iter().any(|target| !target.health.status.is_operational() && target.applied) {
        pass.wake_in(RECHECK);
    }
    if !pass.is_over(StageName::Pruned) {
        return;
    }
    let has_pods = pass.prepared.has_pods();
    let state = match (has_pods, images) {
        (false, _) => StageState::Skipped { message: "The workload runs no containers.".to_owned() },
        (_, images) => images.stage(),
    };
    let over = state.is_finished();
    pass.set_stage(StageName::ImagesPulled, state);
    if over {
        pass.set_stage(
            StageName::Operational,
            operational_stage(&overall, pass.policies.accepts_not_assessed()),
        );
    }
}

/// The worst health of all counted objects, with the object's name in the message.
pub(crate) fn overall_health(pass: &Reconciliation<'_>) -> Health {
    let counted = pass.targets.iter().filter(|target| target.counts_for_health);
    let Some(bad) = worst_health(counted.clone().map(|target| &target.health)) else {
        return Health::healthy();
    };
    if bad.status == HealthStatus::Healthy && expire::is_complete(pass) {
        let message = "All jobs of the workload have completed.";
        return Health { since: bad.since, ..Health::new(HealthStatus::Healthy, health::COMPLETED, message) };
    }
    let subject = counted
        .clone()
        .find(|target| std::ptr::eq(&target.health, bad))
        .map(|target| target.desired.object.to_string());
    match (bad.status, subject) {
        // A completed job among other objects does not make the release complete.
        (HealthStatus::Healthy, _) if bad.reason == health::COMPLETED => {
            Health { since: bad.since, ..Health::healthy() }
        }
        (HealthStatus::Healthy, _) | (_, None) => Health { message: String::new(), ..bad.clone() },
        (_, Some(subject)) => Health { message: format!("{subject}: {}", bad.message), ..bad.clone() },
    }
}

fn assess_target(pass: &mut Reconciliation<'_>, at: usize, images: &mut ImagePullStatus) {
    let desired = Arc::clone(&pass.targets[at].desired);
    let Some(live) = pass.targets[at].live_object() else {
        pass.targets[at].health = absent_health(pass, at);
        store_health(pass, at, None);
        return;
    };
    let pods =
        if owns_pods(&desired.object.kind) { pass.cx.observed.pods.pods_of(&live.uid) } else { Vec::new() };
    let object_state = pass.state.object_mut(&desired.object);
    let failed_creation = pass.cx.observed.pods.failed_creation(&live.uid);
    // A healthy object without pods stays healthy until its version changes.
    let is_unchanged = pods.is_empty() && failed_creation.is_none();
    if is_unchanged && object_state.healthy_version.as_ref() == Some(&live.version) {
        pass.targets[at].health = object_state.health.clone().unwrap_or_else(Health::healthy);
        return;
    }
    let value = live.value();
    pass.state.object_mut(&desired.object).feedback =
        collect_feedback(&pass.policies.feedback, &desired.object, &value);
    let has_status = pass.targets[at].kind.as_ref().is_none_or(|kind| kind.has_status);
    let own = health::assess(&value, has_status, pass.now);
    let object_state = pass.state.object_mut(&desired.object);
    let own = health::retain_last_run(
        own,
        &value,
        object_state.health.as_ref(),
        object_state.cron_job_runs.as_ref(),
    );
    object_state.cron_job_runs = health::CronJobRuns::of(&value);
    let own = assess_with_cluster(pass, &value, own, failed_creation.as_deref(), &pods);
    let own = match own.status {
        HealthStatus::Healthy | HealthStatus::NotAssessed => {
            health::assess_hold(|| desired.value(), &value).unwrap_or(own)
        }
        HealthStatus::Suspended => health::assess_suspension(&desired.value(), &value, own, pass.now),
        _ => own,
    };
    let pods = match desired.object.kind.as_str() {
        "Pod" => vec![Arc::new(value.clone())],
        // The pods are those of the former specification.
        _ if own.reason == health::NOT_OBSERVED => Vec::new(),
        "Deployment" => pass.cx.observed.pods.current_pods_of(&live.uid, deployment_revision(&value)),
        _ => pods,
    };
    let diagnosis = diagnose_pods(pass, &value, pods);
    if owns_pods(&desired.object.kind) {
        images.add(&desired.object.to_string(), &own, &diagnosis);
    }
    let annotations = &value["metadata"]["annotations"];
    pass.targets[at].counts_for_health = annotations[IGNORE_HEALTH_ANNOTATION] != "true";
    pass.targets[at].completed |= desired.object.kind == "Job" && own.reason == health::COMPLETED;
    pass.targets[at].causes.clone_from(&diagnosis.causes);
    pass.targets[at].health = combine_with_pods(own, &diagnosis);
    store_health(pass, at, Some(live.version.clone()));
}

/// The diagnosis of the pods of an object: those of the desired revision, and those of earlier ones that are not replaced.
fn diagnose_pods(pass: &Reconciliation<'_>, controller: &Value, pods: Vec<Arc<Value>>) -> Diagnosis {
    let warnings = pass.cx.observed.pods.warnings(&pods);
    let (current, outdated) = health::split_outdated(controller, pods);
    let mut diagnosis = health::diagnose(current.iter().map(Arc::as_ref), &warnings, pass.now);
    diagnosis.add_outdated(controller, outdated.iter().map(Arc::as_ref), &warnings, pass.now);
    diagnosis
}

/// The health of an object with what other objects tell: the storage class of a claim, the warning of its controller.
fn assess_with_cluster(
    pass: &Reconciliation<'_>,
    value: &Value,
    own: Health,
    failed_creation: Option<&Value>,
    pods: &[Arc<Value>],
) -> Health {
    let classes = &pass.cx.observed.cluster.resources.storage_classes;
    let binds_late = |class: &str| classes.row(class).is_some_and(|class| class.binds_late);
    if let Some(unused) = health::assess_unused_claim(value, &own, binds_late) {
        return unused;
    }
    let failure = failed_creation.filter(|_| own.reason != health::NOT_OBSERVED);
    failure.and_then(|warning| health::assess_failed_creation(value, warning, pods, pass.now)).unwrap_or(own)
}

/// The worse health of an object and its pods. A progressing object includes the cause of its pods.
fn combine_with_pods(own: Health, diagnosis: &Diagnosis) -> Health {
    let pods = diagnosis.health();
    match &pods {
        Some(pods) if pods.status > own.status => pods.clone(),
        Some(pods) if pods.status == own.status && own.status == HealthStatus::Degraded => pods.clone(),
        Some(pods) if pods.status == own.status => Health {
            reason: pods.reason.clone(),
            message: format!("{}; {}", own.message, pods.message),
            ..own
        },
        _ => own,
    }
}

fn absent_health(pass: &Reconciliation<'_>, at: usize) -> Health {
    let target = &pass.targets[at];
    let was_applied = pass.inventory_entry(&target.desired.object).is_some_and(|e| !e.uid.is_empty());
    if target.completed {
        Health::new(HealthStatus::Healthy, health::COMPLETED, "completed and was cleaned up")
    } else if target.cache.is_some() && was_applied {
        Health::new(
            HealthStatus::Missing,
            "ResourceMissing",
            "was applied but no longer exists on the cluster",
        )
    } else {
        Health::new(HealthStatus::Progressing, "NotApplied", "is not applied yet")
    }
}

/// Stores the health with the time of its last change.
fn store_health(pass: &mut Reconciliation<'_>, at: usize, version: Option<String>) {
    let desired = Arc::clone(&pass.targets[at].desired);
    let object = &desired.object;
    let now = pass.now;
    let health = pass.targets[at].health.clone();
    let object_state = pass.state.object_mut(object);
    let since =
        object_state.health.as_ref().filter(|old| old.status == health.status).and_then(|old| old.since);
    let health = Health { since: since.or(Some(now)), ..health };
    object_state.healthy_version = version.filter(|_| health.status.is_operational());
    object_state.health = Some(health.clone());
    pass.targets[at].health = health;
}

fn operational_stage(overall: &Health, accepts_not_assessed: bool) -> StageState {
    let reason = || StageReason::new(Reason::from_cluster(&overall.reason), overall.message.clone());
    match overall.status {
        HealthStatus::Healthy => StageState::Done,
        HealthStatus::NotAssessed if accepts_not_assessed => StageState::Done,
        HealthStatus::NotAssessed => StageState::Running {
            message: format!(
                "{}. The policy notAssessed waits until it is healthy: let its controller report conditions, annotate the object \
                 with {IGNORE_HEALTH_ANNOTATION}=true, or set the policy to accept, and publish.",
                overall.message
            ),
        },
        HealthStatus::Progressing | HealthStatus::Suspended => {
            StageState::Running { message: overall.message.clone() }
        }
        HealthStatus::Missing | HealthStatus::Degraded => StageState::Failed(reason()),
        HealthStatus::Unknown => StageState::Waiting(reason()),
    }
}
