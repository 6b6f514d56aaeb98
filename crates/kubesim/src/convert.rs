//! Between the version an object is kept in and the one it is asked for.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::object::{at, int, list, put, remove, text};
use crate::store::Stored;

/// The stored object in the version asked for.
pub(crate) fn outward(kind: &Kind, version: usize, stored: &Arc<Stored>) -> Arc<Stored> {
    if version == kind.stored {
        return stored.clone();
    }
    let mut value = stored.value.clone();
    value["apiVersion"] = kind.versions[version].api_version.clone().into();
    if kind.is("autoscaling", "HorizontalPodAutoscaler") {
        scaler_to_v1(&mut value);
    }
    Arc::new(Stored::new(stored.rv, value))
}

/// A sent object in the version it is kept in.
pub(crate) fn inward(kind: &Kind, version: usize, value: &mut Value) {
    if version == kind.stored {
        return;
    }
    value["apiVersion"] = kind.storage().api_version.clone().into();
    if kind.is("autoscaling", "HorizontalPodAutoscaler")
        && let Some(percent) = remove(value, "spec.targetCPUUtilizationPercentage")
    {
        let metric = json!({
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
        });
        put(value, "spec.metrics", vec![metric]);
    }
}

fn scaler_to_v1(value: &mut Value) {
    let cpu = list(value, "spec.metrics").iter().find(|m| text(m, "resource.name") == "cpu");
    let percent = cpu.and_then(|m| int(m, "resource.target.averageUtilization"));
    remove(value, "spec.metrics");
    remove(value, "spec.behavior");
    if let Some(percent) = percent {
        put(value, "spec.targetCPUUtilizationPercentage", percent);
    }
    if let Some(conditions) = at(value, "status.conditions").cloned() {
        let text = conditions.to_string();
        let place = crate::object::place(value, "metadata.annotations");
        place["autoscaling.alpha.kubernetes.io/conditions"] = text.into();
    }
    remove(value, "status.conditions");
    remove(value, "status.currentMetrics");
}

/// The same for a bare value.
pub(crate) fn outward_value(kind: &Kind, version: usize, value: &Value) -> Value {
    if version == kind.stored {
        return value.clone();
    }
    outward(kind, version, &Arc::new(Stored::new(0, value.clone()))).value.clone()
}
