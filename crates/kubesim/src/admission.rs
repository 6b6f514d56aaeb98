//! Admission: namespace lifecycle, quotas, and the configured admission rules.

use serde_json::Value;

use crate::cluster::SimState;
use crate::faults::AdmissionDenial;
use crate::kinds::ResourceKind;
use crate::object::{self, is_deleting, map_at, str_at, value_at};
use crate::quantity::FormattedQuantity;
use crate::status::{ApiResult, StatusError};
use crate::store;

/// Admits a new object.
pub(crate) fn admit_create(
    sim: &SimState,
    kind: &ResourceKind,
    object: &Value,
    dry_run: bool,
) -> ApiResult<()> {
    if kind.namespaced {
        check_namespace(sim, kind, object)?;
        check_quota(sim, kind, object)?;
    }
    check_webhooks(sim, kind, object, dry_run)
}

/// Evaluates the configured admission rules.
pub(crate) fn check_webhooks(
    sim: &SimState,
    kind: &ResourceKind,
    object: &Value,
    dry_run: bool,
) -> ApiResult<()> {
    match sim.faults.check_admission(&kind.kind, object, dry_run) {
        None => Ok(()),
        Some(AdmissionDenial::Denied { webhook, message }) => {
            let message = format!("admission webhook \"{webhook}\" denied the request: {message}");
            Err(StatusError::new(403, "Forbidden", message))
        }
        Some(AdmissionDenial::NoDryRun { webhook }) => {
            let message = format!("admission webhook \"{webhook}\" does not support dry run");
            Err(StatusError::new(400, "BadRequest", message))
        }
    }
}

fn check_namespace(sim: &SimState, kind: &ResourceKind, object: &Value) -> ApiResult<()> {
    let name = object::namespace(object);
    let found =
        sim.builtin_kind("", "Namespace").and_then(|k| sim.store.get(k.id, &store::object_key("", name)));
    let Some(found) = found else { return Err(StatusError::namespace_not_found(name)) };
    if is_deleting(&found.value) {
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        let mut refusal = StatusError::forbidden(kind, object::name(object), &why);
        if let Some(details) = &mut refusal.details {
            details["causes"] = serde_json::json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {name} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        return Err(refusal);
    }
    Ok(())
}

/// A pod's request (or limit) of one resource, in thousandths.
fn pod_request(pod: &Value, resource: &str) -> i64 {
    let (kind, resource) = match resource.split_once('.') {
        Some((kind, resource)) => (kind, resource),
        None => ("requests", resource),
    };
    let containers = object::array_at(pod, "spec.containers").iter();
    containers
        .filter_map(|c| map_at(c, &format!("resources.{kind}"))?.get(resource)?.as_str())
        .filter_map(FormattedQuantity::parse)
        .map(FormattedQuantity::to_milli)
        .sum()
}

/// Whether a pod counts against quotas: it has not finished.
fn is_running(pod: &Value) -> bool {
    !matches!(str_at(pod, "status.phase"), "Succeeded" | "Failed")
}

fn check_quota(sim: &SimState, kind: &ResourceKind, object: &Value) -> ApiResult<()> {
    let namespace = object::namespace(object);
    if kind.is_kind("", "Pod")
        && let Some(limit) = sim.faults.pod_limit(namespace)
    {
        let (pods, _) = sim.store.list(kind.id, Some(namespace));
        let used = pods.iter().filter(|p| is_running(&p.value)).count();
        if i64::try_from(used).unwrap_or(i64::MAX) >= limit {
            let why =
                format!("exceeded quota: pods, requested: pods=1, used: pods={used}, limited: pods={limit}");
            return Err(StatusError::forbidden(kind, object::name(object), &why));
        }
    }
    let Some(quotas) = sim.builtin_kind("", "ResourceQuota") else { return Ok(()) };
    for quota in sim.store.list(quotas.id, Some(namespace)).0 {
        for (resource, hard) in map_at(&quota.value, "spec.hard").into_iter().flatten() {
            let Some((requested, used)) = quota_usage(sim, kind, object, resource) else { continue };
            let hard = hard.as_str().unwrap_or("0");
            let limit = FormattedQuantity::parse(hard).map_or(i64::MAX, FormattedQuantity::to_milli);
            if requested == 0 && kind.is_kind("", "Pod") && resource.contains('.') {
                let why = format!("failed quota: {}: must specify {resource}", object::name(&quota.value));
                return Err(StatusError::forbidden(kind, object::name(object), &why));
            }
            if used + requested > limit {
                let name = object::name(&quota.value);
                let (requested, used) = (format_milli(requested), format_milli(used));
                let why = format!(
                    "exceeded quota: {name}, requested: {resource}={requested}, used: {resource}={used}, \
                     limited: {resource}={hard}"
                );
                return Err(StatusError::forbidden(kind, object::name(object), &why));
            }
        }
    }
    Ok(())
}

fn format_milli(milli: i64) -> String {
    FormattedQuantity::parse(&format!("{milli}m")).map(FormattedQuantity::to_canonical).unwrap_or_default()
}

/// The amount of a quota's resource that the object requests and the amount in use, in thousandths; `None` if the quota
/// does not apply to the object.
fn quota_usage(sim: &SimState, kind: &ResourceKind, object: &Value, resource: &str) -> Option<(i64, i64)> {
    let namespace = Some(object::namespace(object));
    let counted =
        resource.strip_prefix("count/").map_or(resource == kind.plural, |r| r == kind.resource_name());
    if counted {
        let (all, _) = sim.store.list(kind.id, namespace);
        let used = all.iter().filter(|o| !kind.is_kind("", "Pod") || is_running(&o.value)).count();
        return Some((1000, i64::try_from(used).ok()?.checked_mul(1000)?));
    }
    if !kind.is_kind("", "Pod") || !matches!(resource.rsplit('.').next(), Some("cpu" | "memory")) {
        return None;
    }
    let (pods, _) = sim.store.list(kind.id, namespace);
    let used = pods.iter().filter(|p| is_running(&p.value)).map(|p| pod_request(&p.value, resource)).sum();
    Some((pod_request(object, resource), used))
}

/// `status` of a ResourceQuota.
pub(crate) fn quota_status(sim: &SimState, quota: &Value) -> Value {
    let hard = value_at(quota, "spec.hard").cloned().unwrap_or_default();
    let mut used = serde_json::Map::new();
    let namespace = object::namespace(quota);
    for resource in hard.as_object().into_iter().flat_map(|m| m.keys()) {
        let counts = |k: &&std::sync::Arc<ResourceKind>| {
            resource
                .strip_prefix("count/")
                .map_or(*resource == k.plural && k.group.is_empty(), |r| r == k.resource_name())
        };
        let kind = sim.kinds.served().kinds.iter().find(counts).cloned();
        let kind = kind.or_else(|| sim.builtin_kind("", "Pod"));
        let probe = serde_json::json!({"metadata": {"namespace": namespace}});
        let found = kind.and_then(|kind| quota_usage(sim, &kind, &probe, resource));
        used.insert(resource.clone(), format_milli(found.map_or(0, |(_, used)| used)).into());
    }
    serde_json::json!({"hard": hard, "used": used})
}
