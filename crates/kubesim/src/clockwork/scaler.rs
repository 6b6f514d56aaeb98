//! HorizontalPodAutoscalers: they watch a target, and keep it inside their bounds. There are no metrics to follow
//! here: the load is always what is wanted.

use std::time::Duration;

use serde_json::{Value, json};

use super::Works;
use super::conditions::{self, Condition};
use crate::object::{self, int, list, put, text};
use crate::store;
use crate::verbs::{Target, Write, subresource};

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let scaler = works.get("autoscaling", "HorizontalPodAutoscaler", key)?;
    let scaler = &scaler.value;
    if object::deleting(scaler) {
        return None;
    }
    let (version, kind) =
        (text(scaler, "spec.scaleTargetRef.apiVersion"), text(scaler, "spec.scaleTargetRef.kind"));
    let name = text(scaler, "spec.scaleTargetRef.name");
    let found = works.sim.kinds.served().of(version, kind);
    let target = found.map(|(kind, version)| Target {
        kind,
        version,
        namespace: object::namespace(scaler).to_owned(),
        name: name.to_owned(),
    });
    let object = target.as_ref().and_then(|t| {
        works
            .sim
            .store
            .get(t.kind.id, &store::key(&t.namespace, &t.name))
            .filter(|_| t.version().scale.is_some())
    });
    let now = works.sim.clock.stamp();
    let own = works.kind("autoscaling", "HorizontalPodAutoscaler")?;
    let (Some(target), Some(object)) = (target, object) else {
        let message = format!(
            "the HPA controller was unable to get the target's current scale: {kind} \"{name}\" not found"
        );
        works.status(&own, scaler, |live| {
            put(live, "status.currentReplicas", 0);
            put(live, "status.desiredReplicas", 0);
            let condition =
                Condition { kind: "AbleToScale", status: false, reason: "FailedGetScale", message: &message };
            conditions::set(live, condition, &now, false);
        });
        return None;
    };
    let (least, most) =
        (int(scaler, "spec.minReplicas").unwrap_or(1), int(scaler, "spec.maxReplicas").unwrap_or(1));
    let wanted = int(&object.value, "spec.replicas").unwrap_or(1);
    let bounded = if wanted == 0 { 0 } else { wanted.clamp(least, most) };
    if bounded != wanted {
        let write = Write { manager: "kube-controller-manager", system: true, ..Write::default() };
        // A target that went in between is met again by its deletion.
        let _ = subresource::rescale(&works.sim, &target, &write, |scale| {
            put(scale, "spec.replicas", bounded);
            Ok(())
        });
    }
    let current = int(&object.value, "status.replicas").unwrap_or(0);
    if works.sim.faults.lacks_metrics() && bounded > 0 {
        works.status(&own, scaler, |live| {
            put(live, "status.currentReplicas", current);
            put(live, "status.desiredReplicas", 0);
            blind(live, &now);
        });
        return None;
    }
    let metrics: Vec<Value> = list(scaler, "spec.metrics").iter().filter_map(metric).collect();
    works.status(&own, scaler, |live| {
        put(live, "status.currentReplicas", current);
        put(live, "status.desiredReplicas", bounded);
        if !metrics.is_empty() {
            put(live, "status.currentMetrics", metrics.clone());
        }
        report(live, bounded, (least, most), &now);
    });
    None
}

/// A cluster without a metrics server.
fn blind(live: &mut Value, now: &str) {
    let able = "the HPA controller was able to get the target's current scale";
    let lost = "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics \
        for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested \
        resource (get pods.metrics.k8s.io)";
    for (kind, status, reason, message) in [
        ("AbleToScale", true, "SucceededGetScale", able),
        ("ScalingActive", false, "FailedGetResourceMetric", lost),
    ] {
        conditions::set(live, Condition { kind, status, reason, message }, now, false);
    }
}

fn metric(spec: &Value) -> Option<Value> {
    let percent = int(spec, "resource.target.averageUtilization")?;
    let name = text(spec, "resource.name");
    Some(json!({
        "type": "Resource",
        "resource": {"name": name, "current": {"averageUtilization": percent, "averageValue": "50m"}},
    }))
}

fn report(live: &mut Value, wanted: i64, (least, most): (i64, i64), now: &str) {
    let mut set = |kind: &str, status: bool, reason: &str, message: &str| {
        conditions::set(live, Condition { kind, status, reason, message }, now, false);
    };
    set("AbleToScale", true, "ReadyForNewScale", "recommended size matches current size");
    if wanted == 0 {
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
    let (limited, reason, message) = if wanted == least {
        (true, "TooFewReplicas", "the desired replica count is less than the minimum replica count")
    } else if wanted == most {
        (true, "TooManyReplicas", "the desired replica count is more than the maximum replica count")
    } else {
        (false, "DesiredWithinRange", "the desired count is within the acceptable range")
    };
    set("ScalingLimited", limited, reason, message);
}
