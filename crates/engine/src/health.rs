//! Is an object operational? Pure rules over what the API server says of it (`health.md` C.0–C.3).
//!
//! One file per family of kinds. [`assess`] judges an object by itself; [`diagnose`] looks at the pods behind it and
//! names the cause. Times come in as an argument, so every rule with a clock in it can be tested.

use domain::Timestamp;
use domain::health::{Health, HealthStatus};
use serde_json::Value;

mod api_service;
mod autoscaler;
mod conditions;
mod cron_job;
mod daemon_set;
mod definition;
mod deployment;
mod diagnosis;
mod disruption_budget;
mod gateway;
mod images;
mod ingress;
mod job;
mod namespace;
mod pod;
mod ready;
mod replica_set;
mod service;
mod stateful_set;
mod view;
mod volume;

pub use diagnosis::{Cause, Diagnosis, diagnose};
pub(crate) use images::Images;
use view::View;

/// The reason of a job that ran to its end.
pub use domain::health::COMPLETED;

/// Seconds an object may take before silence counts, by rule: see the users.
const MINUTE: i64 = 60_000;

/// The health of one object that is on the cluster, at `now`.
pub fn assess(object: &Value, now: Timestamp) -> Health {
    let view = View { object, now };
    before_any_rule(&view).unwrap_or_else(|| by_kind(&view))
}

/// What holds for every kind (C.0 steps 2, 4, 5 and 6).
fn before_any_rule(view: &View<'_>) -> Option<Health> {
    if view.has("/metadata/deletionTimestamp") {
        let finalizers: Vec<&str> =
            view.list("/metadata/finalizers").iter().filter_map(Value::as_str).collect();
        let message = match finalizers.is_empty() {
            true => "is being deleted".to_owned(),
            false => format!("is being deleted; waits for {}", finalizers.join(", ")),
        };
        return Some(progressing("PendingDeletion", message));
    }
    if view.has("/status/observedGeneration") {
        let (generation, observed) =
            (view.int("/metadata/generation"), view.int("/status/observedGeneration"));
        if generation != observed {
            let message = format!("generation is {generation}, observed {observed}");
            return Some(progressing("LatestGenerationNotObserved", message));
        }
    }
    if let Some(stalled) = view.condition("Stalled").filter(|c| c.is_true()) {
        return Some(degraded("Stalled", stalled.message));
    }
    let reconciling = view.condition("Reconciling").filter(|c| c.is_true())?;
    Some(progressing(reconciling.reason_or("Reconciling"), reconciling.message))
}

fn by_kind(view: &View<'_>) -> Health {
    match (view.group(), view.text("/kind")) {
        ("apps", "Deployment") => deployment::assess(view),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => replica_set::assess(view),
        ("apps", "StatefulSet") => stateful_set::assess(view),
        ("apps", "DaemonSet") => daemon_set::assess(view),
        ("batch", "Job") => job::assess(view),
        ("batch", "CronJob") => cron_job::assess(view),
        ("", "Pod") => pod::assess(view),
        ("", "Service") => service::assess(view),
        ("networking.k8s.io" | "extensions", "Ingress") => ingress::assess(view),
        ("", "PersistentVolumeClaim") => volume::assess_claim(view),
        ("", "PersistentVolume") => volume::assess_volume(view),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::assess(view),
        ("policy", "PodDisruptionBudget") => disruption_budget::assess(view),
        ("apiregistration.k8s.io", "APIService") => api_service::assess(view),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition::assess(view),
        ("", "Namespace") => namespace::assess(view),
        ("gateway.networking.k8s.io", "Gateway") => gateway::assess_gateway(view),
        ("gateway.networking.k8s.io", "HTTPRoute") => gateway::assess_route(view),
        _ => ready::assess(view).unwrap_or_else(|| conditions::assess(view)),
    }
}

fn healthy(message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Healthy, "", message)
}

fn progressing(reason: &str, message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Progressing, reason, message)
}

fn degraded(reason: &str, message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Degraded, reason, message)
}

fn suspended(reason: &str, message: impl Into<String>) -> Health {
    Health::new(HealthStatus::Suspended, reason, message)
}

#[cfg(test)]
mod tests;
