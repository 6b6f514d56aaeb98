//! The last two stages: no container waits for an image, and everything is healthy (S0-8, S0-9).

use std::sync::Arc;
use std::time::Duration;

use domain::health::{Health, HealthStatus, worst};
use domain::policy::feedback;
use domain::release::stage::Trouble;
use domain::release::{StageName, StageState};

use super::expire;
use super::pass::Pass;
use super::preflight::owns_pods;
use crate::health::{self, Diagnosis, Images};
use crate::wanted::IGNORE_HEALTH_ANNOTATION;

/// How soon rules that look at the clock are asked again while something is not settled.
const RECHECK: Duration = Duration::from_secs(5);

/// Looks at the health of every object and derives both stages.
pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut images = Images::default();
    for at in 0..pass.targets.len() {
        look(pass, at, &mut images);
    }
    let overall = overall(pass);
    if pass.targets.iter().any(|target| target.health.status != HealthStatus::Healthy && target.applied) {
        pass.wake_in(RECHECK);
    }
    if !pass.is_over(StageName::Pruned) {
        return;
    }
    let has_pods = pass.prepared.objects.iter().any(|wanted| owns_pods(&wanted.object.kind));
    let state = match (has_pods, images) {
        (false, _) => StageState::Skipped { message: "Nothing in it runs containers.".to_owned() },
        (_, images) => images.stage(),
    };
    let over = state.is_over();
    pass.stage(StageName::ImagesPulled, state);
    if over {
        pass.stage(StageName::Operational, operational(&overall));
    }
}

/// The worst of all objects whose health counts, with the name of the object in its message.
pub(crate) fn overall(pass: &Pass<'_>) -> Health {
    let counting = pass.targets.iter().filter(|target| target.counts);
    let Some(bad) = worst(counting.clone().map(|target| &target.health)) else {
        return Health::healthy();
    };
    if bad.status == HealthStatus::Healthy && expire::is_complete(pass) {
        let message = "Everything in it that runs has run to its end.";
        return Health { since: bad.since, ..Health::new(HealthStatus::Healthy, health::COMPLETED, message) };
    }
    let subject = counting
        .clone()
        .find(|target| std::ptr::eq(&target.health, bad))
        .map(|target| pass.prepared.objects[target.index].object.to_string());
    match (bad.status, subject) {
        // That one job of several things ran to its end does not make the whole complete.
        (HealthStatus::Healthy, _) if bad.reason == health::COMPLETED => {
            Health { since: bad.since, ..Health::healthy() }
        }
        (HealthStatus::Healthy, _) | (_, None) => Health { message: String::new(), ..bad.clone() },
        (_, Some(subject)) => Health { message: format!("{subject}: {}", bad.message), ..bad.clone() },
    }
}

fn look(pass: &mut Pass<'_>, at: usize, images: &mut Images) {
    let prepared = pass.prepared.clone();
    let wanted = &prepared.objects[pass.targets[at].index];
    let Some(live) = pass.targets[at].live(wanted) else {
        pass.targets[at].health = absent(pass, at);
        remember(pass, at, None);
        return;
    };
    let pods = if owns_pods(&wanted.object.kind) { pass.cx.observed.pods.of(&live.uid) } else { Vec::new() };
    let memory = pass.memory.object(&wanted.object);
    // An object that was healthy is healthy until it changes; only its pods may say otherwise meanwhile.
    if pods.is_empty() && memory.healthy_at.as_ref() == Some(&live.version) {
        pass.targets[at].health = memory.health.clone().unwrap_or_else(Health::healthy);
        return;
    }
    let value = live.value();
    pass.memory.object(&wanted.object).feedback = feedback(&pass.policies.feedback, &wanted.object, &value);
    let own = health::assess(&value, pass.now);
    let pods = if wanted.object.kind == "Pod" { vec![Arc::new(value.clone())] } else { pods };
    let warnings = pass.cx.observed.pods.warnings(&pods);
    let diagnosis = health::diagnose(pods.iter().map(Arc::as_ref), &warnings, pass.now);
    if owns_pods(&wanted.object.kind) {
        images.add(&wanted.object.to_string(), &own, &diagnosis);
    }
    let annotations = &value["metadata"]["annotations"];
    pass.targets[at].counts = annotations[IGNORE_HEALTH_ANNOTATION] != "true";
    pass.targets[at].completed |= wanted.object.kind == "Job" && own.reason == health::COMPLETED;
    pass.targets[at].causes = diagnosis.sentences();
    pass.targets[at].health = with_pods(own, &diagnosis);
    remember(pass, at, Some(live.version.clone()));
}

/// The worst of an object and its pods (`health.md` C.0, departure 2). What is on its way is told with its cause.
fn with_pods(own: Health, diagnosis: &Diagnosis) -> Health {
    let pods = diagnosis.health();
    match &pods {
        Some(pods) if pods.status > own.status => pods.clone(),
        Some(pods) if pods.status == own.status && own.status == HealthStatus::Degraded => pods.clone(),
        Some(pods) if pods.status == own.status => {
            Health { message: format!("{}; {}", own.message, pods.message), ..own }
        }
        _ => own,
    }
}

fn absent(pass: &Pass<'_>, at: usize) -> Health {
    let target = &pass.targets[at];
    let applied_before =
        pass.entry(&pass.prepared.objects[target.index].object).is_some_and(|e| !e.uid.is_empty());
    if target.completed {
        Health::new(HealthStatus::Healthy, health::COMPLETED, "ran to its end and was cleaned away")
    } else if target.objects.is_some() && applied_before {
        Health::new(
            HealthStatus::Missing,
            "ResourceMissing",
            "was applied and is not on the cluster any more",
        )
    } else {
        Health::new(HealthStatus::Progressing, "NotApplied", "is not applied yet")
    }
}

/// Keeps since when the health is what it is.
fn remember(pass: &mut Pass<'_>, at: usize, version: Option<String>) {
    let prepared = pass.prepared.clone();
    let object = &prepared.objects[pass.targets[at].index].object;
    let now = pass.now;
    let health = pass.targets[at].health.clone();
    let memory = pass.memory.object(object);
    let since = memory.health.as_ref().filter(|old| old.status == health.status).and_then(|old| old.since);
    let health = Health { since: since.or(Some(now)), ..health };
    memory.healthy_at = version.filter(|_| health.status == HealthStatus::Healthy);
    memory.health = Some(health.clone());
    pass.targets[at].health = health;
}

fn operational(overall: &Health) -> StageState {
    let trouble = || Trouble {
        reason: overall.reason.clone(),
        message: overall.message.clone(),
        attempts: 0,
        next_retry: None,
    };
    match overall.status {
        HealthStatus::Healthy => StageState::Done,
        HealthStatus::Progressing | HealthStatus::Suspended => {
            StageState::Running { message: overall.message.clone() }
        }
        HealthStatus::Missing | HealthStatus::Degraded => StageState::Failed(trouble()),
        HealthStatus::Unknown => StageState::Waiting(trouble()),
    }
}
