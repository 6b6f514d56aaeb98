//! HorizontalPodAutoscalers: clamp the replicas of their target to their bounds. Metrics are not simulated: utilization
//! always equals the target value.

use std::time::Duration;

use serde_json::{Value, json};

use super::ControllerContext;
use super::conditions::{self, ConditionUpdate};
use crate::object::{self, array_at, i64_at, set_value, str_at};
use crate::store;
use crate::verbs::{ResourcePath, WriteOptions, subresource};

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let scaler = ctx.get_object("autoscaling", "HorizontalPodAutoscaler", key)?;
    let scaler = &scaler.value;
    if object::is_deleting(scaler) {
        return None;
    }
    let (version, kind) =
        (str_at(scaler, "spec.scaleTargetRef.apiVersion"), str_at(scaler, "spec.scaleTargetRef.kind"));
    let name = str_at(scaler, "spec.scaleTargetRef.name");
    let found = ctx.sim.kinds.served().find_version(version, kind);
    let target = found.map(|(kind, version)| ResourcePath {
        kind,
        version,
        namespace: object::namespace(scaler).to_owned(),
        name: name.to_owned(),
    });
    let object = target.as_ref().and_then(|t| {
        ctx.sim
            .store
            .get(t.kind.id, &store::object_key(&t.namespace, &t.name))
            .filter(|_| t.version().scale_paths.is_some())
    });
    let now = ctx.sim.clock.now_rfc3339();
    let own = ctx.builtin_kind("autoscaling", "HorizontalPodAutoscaler")?;
    let (Some(target), Some(object)) = (target, object) else {
        let message = format!(
            "the HPA controller was unable to get the target's current scale: {kind} \"{name}\" not found"
        );
        ctx.update_status(&own, scaler, |live| {
            set_value(live, "status.currentReplicas", 0);
            set_value(live, "status.desiredReplicas", 0);
            let condition = ConditionUpdate {
                kind: "AbleToScale",
                status: false,
                reason: "FailedGetScale",
                message: &message,
            };
            conditions::set_condition(live, condition, &now, false);
        });
        return None;
    };
    let (min, max) =
        (i64_at(scaler, "spec.minReplicas").unwrap_or(1), i64_at(scaler, "spec.maxReplicas").unwrap_or(1));
    let desired = i64_at(&object.value, "spec.replicas").unwrap_or(1);
    let bounded = if desired == 0 { 0 } else { desired.clamp(min, max) };
    if bounded != desired {
        let write =
            WriteOptions { manager: "kube-controller-manager", by_system: true, ..WriteOptions::default() };
        // If the target was deleted concurrently, its deletion enqueues the autoscaler again.
        let _ = subresource::update_scale(&ctx.sim, &target, &write, |scale| {
            set_value(scale, "spec.replicas", bounded);
            Ok(())
        });
    }
    let current = i64_at(&object.value, "status.replicas").unwrap_or(0);
    if ctx.sim.faults.has_no_metrics() && bounded > 0 {
        ctx.update_status(&own, scaler, |live| {
            set_value(live, "status.currentReplicas", current);
            set_value(live, "status.desiredReplicas", 0);
            report_missing_metrics(live, &now);
        });
        return None;
    }
    let metrics: Vec<Value> = array_at(scaler, "spec.metrics").iter().filter_map(current_metric).collect();
    ctx.update_status(&own, scaler, |live| {
        set_value(live, "status.currentReplicas", current);
        set_value(live, "status.desiredReplicas", bounded);
        if !metrics.is_empty() {
            set_value(live, "status.currentMetrics", metrics.clone());
        }
        write_conditions(live, bounded, (min, max), &now);
    });
    None
}

/// Reports that metrics are unavailable, as in a cluster without a metrics server.
fn report_missing_metrics(live: &mut Value, now: &str) {
    let able = "the HPA controller was able to get the target's current scale";
    let lost = "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics \
        for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested \
        resource (get pods.metrics.k8s.io)";
    for (kind, status, reason, message) in [
        ("AbleToScale", true, "SucceededGetScale", able),
        ("ScalingActive", false, "FailedGetResourceMetric", lost),
    ] {
        conditions::set_condition(live, ConditionUpdate { kind, status, reason, message }, now, false);
    }
}

fn current_metric(spec: &Value) -> Option<Value> {
    let percent = i64_at(spec, "resource.target.averageUtilization")?;
    let name = str_at(spec, "resource.name");
    Some(json!({
        "type": "Resource",
        "resource": {"name": name, "current": {"averageUtilization": percent, "averageValue": "50m"}},
    }))
}

fn write_conditions(live: &mut Value, desired: i64, (min, max): (i64, i64), now: &str) {
    let mut set = |kind: &str, status: bool, reason: &str, message: &str| {
        conditions::set_condition(live, ConditionUpdate { kind, status, reason, message }, now, false);
    };
    set("AbleToScale", true, "ReadyForNewScale", "recommended size matches current size");
    if desired == 0 {
        set(
            "ScalingActive",
            false,
            "ScalingDisabled",
            "scaling is disabled since the replica count of the target is zero",
        );
        return;
    }
    let message = "the HPA was able to successfully calculate a replica count from cpu resource utilization \
        (percentage of request)";
    set("ScalingActive", true, "ValidMetricFound", message);
    let (limited, reason, message) = if desired == min {
        (true, "TooFewReplicas", "the desired replica count is less than the minimum replica count")
    } else if desired == max {
        (true, "TooManyReplicas", "the desired replica count is more than the maximum replica count")
    } else {
        (false, "DesiredWithinRange", "the desired count is within the acceptable range")
    };
    set("ScalingLimited", limited, reason, message);
}
