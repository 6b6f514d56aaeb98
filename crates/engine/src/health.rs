//! Health rules: pure functions over live objects.
//!
//! One file per family of kinds. [`assess`] evaluates one object; [`diagnose`] evaluates its pods and returns the
//! causes. The current time is an argument, so that time-dependent rules can be tested.

use std::sync::Arc;

use domain::Timestamp;
use domain::health::{Health, HealthStatus};
use serde_json::Value;

mod api_service;
mod autoscaler;
mod conditions;
mod crd;
mod cron_job;
mod daemon_set;
mod deployment;
mod diagnosis;
mod disruption_budget;
mod failed_creation;
mod gateway;
mod hold;
mod image_pull;
mod ingress;
mod job;
mod namespace;
mod object_view;
mod outdated_pods;
mod pod;
mod replica_set;
mod service;
mod stateful_set;
mod static_kind;
mod volume;

pub(crate) use cron_job::{CronJobRuns, retain_last_run};
pub use diagnosis::{Diagnosis, diagnose};
pub(crate) use failed_creation::FAILED_CREATE;
pub(crate) use hold::{assess_hold, assess_suspension};
pub(crate) use image_pull::ImagePullStatus;
use object_view::ObjectView;
pub(crate) use outdated_pods::split_outdated;
pub(crate) use volume::assess_unused_claim;

/// Reason of a completed job.
pub use domain::health::COMPLETED;

/// The reason of an object whose controller has not observed its latest specification.
pub(crate) const NOT_OBSERVED: &str = "LatestGenerationNotObserved";

/// One minute, in milliseconds.
const MINUTE_MILLIS: i64 = 60_000;

/// The health of one object that is on the cluster, at `now`. `has_status` is whether its kind has a status subresource.
pub fn assess(object: &Value, has_status: bool, now: Timestamp) -> Health {
    let view = ObjectView { object, has_status, now };
    assess_common(&view).unwrap_or_else(|| assess_by_kind(&view))
}

/// The health of an object about which its controller wrote this warning, beside these pods of it; `None` if the warning does not
/// count any more.
pub(crate) fn assess_failed_creation(
    object: &Value,
    warning: &Value,
    pods: &[Arc<Value>],
    now: Timestamp,
) -> Option<Health> {
    let newest_pod = pods.iter().filter_map(|pod| pod["metadata"]["creationTimestamp"].as_str()).max();
    failed_creation::assess_failed_creation(
        &ObjectView { object, has_status: true, now },
        warning,
        newest_pod,
    )
}

/// Rules of all kinds: deletion, observed generation, `Stalled`, `Reconciling`.
fn assess_common(view: &ObjectView<'_>) -> Option<Health> {
    if view.has("/metadata/deletionTimestamp") {
        let finalizers: Vec<&str> =
            view.list("/metadata/finalizers").iter().filter_map(Value::as_str).collect();
        let message = match finalizers.is_empty() {
            true => "is being deleted".to_owned(),
            false => format!("is being deleted; waiting for finalizers {}", finalizers.join(", ")),
        };
        return Some(progressing("PendingDeletion", message));
    }
    if let Some(observed) =
        view.value_at("/status/observedGeneration").and_then(object_view::parse_generation)
        && observed < view.int("/metadata/generation")
    {
        return Some(not_observed(view, observed));
    }
    if let Some(stalled) = view.current_condition("Stalled").filter(|c| c.is_true()) {
        return Some(degraded("Stalled", stalled.message));
    }
    let reconciling = view.current_condition("Reconciling").filter(|c| c.is_true())?;
    Some(progressing(reconciling.reason_or("Reconciling"), reconciling.message))
}

fn assess_by_kind(view: &ObjectView<'_>) -> Health {
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
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd::assess(view),
        ("", "Namespace") => namespace::assess(view),
        ("gateway.networking.k8s.io", "Gateway") => gateway::assess_gateway(view),
        ("gateway.networking.k8s.io", "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute") => {
            gateway::assess_route(view)
        }
        _ => static_kind::assess(view).unwrap_or_else(|| conditions::assess(view)),
    }
}

/// The controller has not observed the latest generation.
fn not_observed(view: &ObjectView<'_>, observed: i64) -> Health {
    let message = format!("generation is {}, observed {observed}", view.int("/metadata/generation"));
    progressing(NOT_OBSERVED, message)
}

fn not_assessed(reason: &str, message: impl Into<String>) -> Health {
    Health::new(HealthStatus::NotAssessed, reason, message)
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
