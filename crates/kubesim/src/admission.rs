//! Who may come in: the namespace's life, quotas, and the switched-on refusals.

use serde_json::Value;

use crate::cluster::Sim;
use crate::faults::Denial;
use crate::kinds::Kind;
use crate::object::{self, at, deleting, map, text};
use crate::quantity::Quantity;
use crate::status::{Answer, Refusal};
use crate::store;

/// Admits a new object.
pub(crate) fn create(sim: &Sim, kind: &Kind, object: &Value, dry_run: bool) -> Answer<()> {
    if kind.namespaced {
        namespace(sim, kind, object)?;
        quota(sim, kind, object)?;
    }
    webhooks(sim, kind, object, dry_run)
}

/// Asks the switched-on refusals.
pub(crate) fn webhooks(sim: &Sim, kind: &Kind, object: &Value, dry_run: bool) -> Answer<()> {
    match sim.faults.denial(&kind.kind, object, dry_run) {
        None => Ok(()),
        Some(Denial::Denied { webhook, message }) => {
            let message = format!("admission webhook \"{webhook}\" denied the request: {message}");
            Err(Refusal::new(403, "Forbidden", message))
        }
        Some(Denial::NoDryRun { webhook }) => {
            let message = format!("admission webhook \"{webhook}\" does not support dry run");
            Err(Refusal::new(400, "BadRequest", message))
        }
    }
}

fn namespace(sim: &Sim, kind: &Kind, object: &Value) -> Answer<()> {
    let name = object::namespace(object);
    let found = sim.builtin("", "Namespace").and_then(|k| sim.store.get(k.id, &store::key("", name)));
    let Some(found) = found else { return Err(Refusal::namespace_not_found(name)) };
    if deleting(&found.value) {
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        let mut refusal = Refusal::forbidden(kind, object::name(object), &why);
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

/// How much of each resource a pod asks for, in thousandths.
fn pod_request(pod: &Value, resource: &str) -> i64 {
    let (kind, resource) = match resource.split_once('.') {
        Some((kind, resource)) => (kind, resource),
        None => ("requests", resource),
    };
    let containers = object::list(pod, "spec.containers").iter();
    containers
        .filter_map(|c| map(c, &format!("resources.{kind}"))?.get(resource)?.as_str())
        .filter_map(Quantity::parse)
        .map(Quantity::milli)
        .sum()
}

/// Whether a pod still counts.
fn running(pod: &Value) -> bool {
    !matches!(text(pod, "status.phase"), "Succeeded" | "Failed")
}

fn quota(sim: &Sim, kind: &Kind, object: &Value) -> Answer<()> {
    let namespace = object::namespace(object);
    if kind.is("", "Pod")
        && let Some(limit) = sim.faults.pod_limit(namespace)
    {
        let (pods, _) = sim.store.list(kind.id, Some(namespace));
        let used = pods.iter().filter(|p| running(&p.value)).count();
        if i64::try_from(used).unwrap_or(i64::MAX) >= limit {
            let why =
                format!("exceeded quota: pods, requested: pods=1, used: pods={used}, limited: pods={limit}");
            return Err(Refusal::forbidden(kind, object::name(object), &why));
        }
    }
    let Some(quotas) = sim.builtin("", "ResourceQuota") else { return Ok(()) };
    for quota in sim.store.list(quotas.id, Some(namespace)).0 {
        for (resource, hard) in map(&quota.value, "spec.hard").into_iter().flatten() {
            let Some((asked, used)) = usage(sim, kind, object, resource) else { continue };
            let hard = hard.as_str().unwrap_or("0");
            let limit = Quantity::parse(hard).map_or(i64::MAX, Quantity::milli);
            if asked == 0 && kind.is("", "Pod") && resource.contains('.') {
                let why = format!("failed quota: {}: must specify {resource}", object::name(&quota.value));
                return Err(Refusal::forbidden(kind, object::name(object), &why));
            }
            if used + asked > limit {
                let name = object::name(&quota.value);
                let (asked, used) = (spell(asked), spell(used));
                let why = format!(
                    "exceeded quota: {name}, requested: {resource}={asked}, used: {resource}={used}, \
                     limited: {resource}={hard}"
                );
                return Err(Refusal::forbidden(kind, object::name(object), &why));
            }
        }
    }
    Ok(())
}

fn spell(milli: i64) -> String {
    Quantity::parse(&format!("{milli}m")).map(Quantity::canonical).unwrap_or_default()
}

/// What the object asks of a quota's resource and what is used, in thousandths; none if it does not count there.
fn usage(sim: &Sim, kind: &Kind, object: &Value, resource: &str) -> Option<(i64, i64)> {
    let namespace = Some(object::namespace(object));
    let counted = resource.strip_prefix("count/").map_or(resource == kind.plural, |r| r == kind.resource());
    if counted {
        let (all, _) = sim.store.list(kind.id, namespace);
        let used = all.iter().filter(|o| !kind.is("", "Pod") || running(&o.value)).count();
        return Some((1000, i64::try_from(used).ok()?.checked_mul(1000)?));
    }
    if !kind.is("", "Pod") || !matches!(resource.rsplit('.').next(), Some("cpu" | "memory")) {
        return None;
    }
    let (pods, _) = sim.store.list(kind.id, namespace);
    let used = pods.iter().filter(|p| running(&p.value)).map(|p| pod_request(&p.value, resource)).sum();
    Some((pod_request(object, resource), used))
}

/// `status` of a ResourceQuota.
pub(crate) fn quota_status(sim: &Sim, quota: &Value) -> Value {
    let hard = at(quota, "spec.hard").cloned().unwrap_or_default();
    let mut used = serde_json::Map::new();
    let namespace = object::namespace(quota);
    for resource in hard.as_object().into_iter().flat_map(|m| m.keys()) {
        let counts = |k: &&std::sync::Arc<Kind>| {
            resource
                .strip_prefix("count/")
                .map_or(*resource == k.plural && k.group.is_empty(), |r| r == k.resource())
        };
        let kind = sim.kinds.served().kinds.iter().find(counts).cloned();
        let kind = kind.or_else(|| sim.builtin("", "Pod"));
        let probe = serde_json::json!({"metadata": {"namespace": namespace}});
        let found = kind.and_then(|kind| usage(sim, &kind, &probe, resource));
        used.insert(resource.clone(), spell(found.map_or(0, |(_, used)| used)).into());
    }
    serde_json::json!({"hard": hard, "used": used})
}
