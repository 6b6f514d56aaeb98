//! `get_scale`, `eviction` and `default_binding`.

use serde_json::{Value, json};

use super::{ResourcePath, WriteOptions, update};
use crate::cluster::SimState;
use crate::kinds::ScalePaths;
use crate::object::{self, i64_at, str_at, value_at};
use crate::selector::LabelRequirements;
use crate::status::{ApiResult, StatusError};

/// The `ScalePaths` of an object.
///
/// # Errors
/// 404 if the kind has no scale subresource.
pub(crate) fn get_scale(sim: &SimState, target: &ResourcePath) -> ApiResult<Value> {
    let scale = scale_paths(target)?;
    Ok(build_scale(&target.get(sim)?.value, &scale))
}

fn scale_paths(target: &ResourcePath) -> ApiResult<ScalePaths> {
    target.version().scale_paths.clone().ok_or_else(StatusError::path_not_found)
}

fn build_scale(object: &Value, scale: &ScalePaths) -> Value {
    let selector = scale.label_selector.as_deref().and_then(|path| value_at(object, path));
    let selector = match selector {
        Some(Value::String(text)) => text.clone(),
        Some(other) => LabelRequirements::from_value(other).to_query(),
        None => String::new(),
    };
    let mut metadata = json!({"name": object::name(object)});
    for field in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = value_at(object, &format!("metadata.{field}")) {
            metadata[field] = value.clone();
        }
    }
    let mut out = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {}, "status": {"replicas": i64_at(object, &scale.status_replicas).unwrap_or(0)},
    });
    if let Some(replicas) = i64_at(object, &scale.spec_replicas).filter(|r| *r != 0) {
        out["spec"]["replicas"] = replicas.into();
    }
    if !selector.is_empty() {
        out["status"]["selector"] = selector.into();
    }
    out
}

/// Writes the replicas through the scale subresource; `change` edits the current `ScalePaths`.
///
/// # Errors
/// As for any edit.
pub(crate) fn update_scale(
    sim: &SimState,
    target: &ResourcePath,
    write: &WriteOptions<'_>,
    change: impl Fn(&mut Value) -> ApiResult<()>,
) -> ApiResult<Value> {
    let scale = scale_paths(target)?;
    let write = WriteOptions { subresource: "scale", ..*write };
    let done = update::edit_object(sim, target, &write, |object| {
        let mut edited = build_scale(object, &scale);
        let before = str_at(&edited, "metadata.resourceVersion").to_owned();
        change(&mut edited)?;
        let expected = str_at(&edited, "metadata.resourceVersion");
        if !expected.is_empty() && expected != before {
            return Err(StatusError::modified(&target.kind, &target.name));
        }
        let replicas = i64_at(&edited, "spec.replicas").unwrap_or(0);
        if replicas < 0 {
            let detail = "must be greater than or equal to 0";
            let cause = crate::status::StatusCause::invalid("spec.replicas", &replicas.into(), detail);
            return Err(StatusError::invalid(&target.kind, &target.name, &[cause]));
        }
        object::set_value(object, &scale.spec_replicas, replicas);
        Ok(())
    })?;
    Ok(build_scale(&done.value, &scale))
}

/// Evicts a pod unless a disruption budget forbids it.
///
/// # Errors
/// 429 with the name of the disruption budget.
pub(crate) fn evict_pod(sim: &SimState, target: &ResourcePath, body: &Value) -> ApiResult<Value> {
    let pod = target.get(sim)?;
    if let Some(budgets) = sim.builtin_kind("policy", "PodDisruptionBudget") {
        for budget in sim.store.list(budgets.id, Some(&target.namespace)).0 {
            let selector = LabelRequirements::from_value(
                budget.value.get("spec").and_then(|s| s.get("selector")).unwrap_or(&Value::Null),
            );
            if selector.selects(&pod.value)
                && i64_at(&budget.value, "status.disruptionsAllowed").unwrap_or(0) < 1
            {
                let message = "Cannot evict pod as it would violate the pod's disruption budget.";
                let mut refusal = StatusError::new(429, "TooManyRequests", message);
                refusal.details = Some(json!({"causes": [{
                    "reason": "DisruptionBudget",
                    "message": format!("The disruption budget {} needs more healthy pods", object::name(&budget.value)),
                }]}));
                refusal.retry_after = Some(10);
                return Err(refusal);
            }
        }
    }
    super::delete::delete_object(sim, target, body.get("deleteOptions").unwrap_or(&Value::Null), false)?;
    Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}

/// Binds a pod to a node.
///
/// # Errors
/// As for any edit.
pub(crate) fn bind_pod(
    sim: &SimState,
    target: &ResourcePath,
    body: &Value,
    write: &WriteOptions<'_>,
) -> ApiResult<Value> {
    let node = str_at(body, "target.name").to_owned();
    let write = WriteOptions { by_system: true, ..*write };
    update::edit_object(sim, target, &write, |pod| {
        object::set_value(pod, "spec.nodeName", node.clone());
        Ok(())
    })?;
    Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}
