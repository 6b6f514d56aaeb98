//! Conversion between an object's storage version and the requested version.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kinds::ResourceKind;
use crate::object::{array_at, i64_at, remove_value, set_value, str_at, value_at};
use crate::store::StoredObject;

/// The stored object in the requested version.
pub(crate) fn convert_from_storage(
    kind: &ResourceKind,
    version: usize,
    stored: &Arc<StoredObject>,
) -> Arc<StoredObject> {
    if version == kind.storage_index {
        return stored.clone();
    }
    let mut value = stored.value.clone();
    value["apiVersion"] = kind.versions[version].api_version.clone().into();
    if kind.is_kind("autoscaling", "HorizontalPodAutoscaler") {
        autoscaler_to_v1(&mut value);
    }
    Arc::new(StoredObject::new(stored.rv, value))
}

/// Converts a sent object to the storage version.
pub(crate) fn convert_to_storage(kind: &ResourceKind, version: usize, value: &mut Value) {
    if version == kind.storage_index {
        return;
    }
    value["apiVersion"] = kind.storage_version().api_version.clone().into();
    if kind.is_kind("autoscaling", "HorizontalPodAutoscaler")
        && let Some(percent) = remove_value(value, "spec.targetCPUUtilizationPercentage")
    {
        let metric = json!({
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
        });
        set_value(value, "spec.metrics", vec![metric]);
    }
}

fn autoscaler_to_v1(value: &mut Value) {
    let cpu = array_at(value, "spec.metrics").iter().find(|m| str_at(m, "resource.name") == "cpu");
    let percent = cpu.and_then(|m| i64_at(m, "resource.target.averageUtilization"));
    remove_value(value, "spec.metrics");
    remove_value(value, "spec.behavior");
    if let Some(percent) = percent {
        set_value(value, "spec.targetCPUUtilizationPercentage", percent);
    }
    if let Some(conditions) = value_at(value, "status.conditions").cloned() {
        let text = conditions.to_string();
        let place = crate::object::value_at_mut(value, "metadata.annotations");
        place["autoscaling.alpha.kubernetes.io/conditions"] = text.into();
    }
    remove_value(value, "status.conditions");
    remove_value(value, "status.currentMetrics");
}

/// Like [`convert_from_storage`], for a plain value.
pub(crate) fn convert_value_from_storage(kind: &ResourceKind, version: usize, value: &Value) -> Value {
    if version == kind.storage_index {
        return value.clone();
    }
    convert_from_storage(kind, version, &Arc::new(StoredObject::new(0, value.clone()))).value.clone()
}
