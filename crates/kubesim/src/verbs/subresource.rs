//! `scale`, `eviction` and `binding`.

use serde_json::{Value, json};

use super::{Target, Write, update};
use crate::cluster::Sim;
use crate::kinds::Scale;
use crate::object::{self, at, int, text};
use crate::selector::LabelSelector;
use crate::status::{Answer, Refusal};

/// The `Scale` of an object.
///
/// # Errors
/// 404 where the kind has none.
pub(crate) fn scale(sim: &Sim, target: &Target) -> Answer<Value> {
    let scale = paths(target)?;
    Ok(view(&target.get(sim)?.value, &scale))
}

fn paths(target: &Target) -> Answer<Scale> {
    target.version().scale.clone().ok_or_else(Refusal::no_such_path)
}

fn view(object: &Value, scale: &Scale) -> Value {
    let selector = scale.selector.as_deref().and_then(|path| at(object, path));
    let selector = match selector {
        Some(Value::String(text)) => text.clone(),
        Some(other) => LabelSelector::of(other).query(),
        None => String::new(),
    };
    let mut metadata = json!({"name": object::name(object)});
    for field in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = at(object, &format!("metadata.{field}")) {
            metadata[field] = value.clone();
        }
    }
    let mut out = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {}, "status": {"replicas": int(object, &scale.status).unwrap_or(0)},
    });
    if let Some(replicas) = int(object, &scale.spec).filter(|r| *r != 0) {
        out["spec"]["replicas"] = replicas.into();
    }
    if !selector.is_empty() {
        out["status"]["selector"] = selector.into();
    }
    out
}

/// Writes the wanted number through the scale subresource; `change` turns the present `Scale` into the new one.
///
/// # Errors
/// As for any edit.
pub(crate) fn rescale(
    sim: &Sim,
    target: &Target,
    write: &Write<'_>,
    change: impl Fn(&mut Value) -> Answer<()>,
) -> Answer<Value> {
    let scale = paths(target)?;
    let write = Write { subresource: "scale", ..*write };
    let done = update::edit(sim, target, &write, |object| {
        let mut wanted = view(object, &scale);
        let before = text(&wanted, "metadata.resourceVersion").to_owned();
        change(&mut wanted)?;
        let asked = text(&wanted, "metadata.resourceVersion");
        if !asked.is_empty() && asked != before {
            return Err(Refusal::modified(&target.kind, &target.name));
        }
        let replicas = int(&wanted, "spec.replicas").unwrap_or(0);
        if replicas < 0 {
            let detail = "must be greater than or equal to 0";
            let cause = crate::status::Cause::invalid("spec.replicas", &replicas.into(), detail);
            return Err(Refusal::invalid(&target.kind, &target.name, &[cause]));
        }
        object::put(object, &scale.spec, replicas);
        Ok(())
    })?;
    Ok(view(&done.value, &scale))
}

/// Evicts a pod unless a disruption budget forbids it.
///
/// # Errors
/// 429 with the budget's name.
pub(crate) fn evict(sim: &Sim, target: &Target, body: &Value) -> Answer<Value> {
    let pod = target.get(sim)?;
    if let Some(budgets) = sim.builtin("policy", "PodDisruptionBudget") {
        for budget in sim.store.list(budgets.id, Some(&target.namespace)).0 {
            let selector = LabelSelector::of(
                budget.value.get("spec").and_then(|s| s.get("selector")).unwrap_or(&Value::Null),
            );
            if selector.selects(&pod.value)
                && int(&budget.value, "status.disruptionsAllowed").unwrap_or(0) < 1
            {
                let message = "Cannot evict pod as it would violate the pod's disruption budget.";
                let mut refusal = Refusal::new(429, "TooManyRequests", message);
                refusal.details = Some(json!({"causes": [{
                    "reason": "DisruptionBudget",
                    "message": format!("The disruption budget {} needs more healthy pods", object::name(&budget.value)),
                }]}));
                refusal.retry_after = Some(10);
                return Err(refusal);
            }
        }
    }
    super::delete::delete(sim, target, body.get("deleteOptions").unwrap_or(&Value::Null), false)?;
    Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}

/// Binds a pod to a node.
///
/// # Errors
/// As for any edit.
pub(crate) fn bind(sim: &Sim, target: &Target, body: &Value, write: &Write<'_>) -> Answer<Value> {
    let node = text(body, "target.name").to_owned();
    let write = Write { system: true, ..*write };
    update::edit(sim, target, &write, |pod| {
        object::put(pod, "spec.nodeName", node.clone());
        Ok(())
    })?;
    Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}
