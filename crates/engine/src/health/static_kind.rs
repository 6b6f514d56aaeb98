//! Kinds that are healthy once they exist.

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing};

/// The health of a static kind; `None` for every other kind.
pub(super) fn assess(view: &ObjectView<'_>) -> Option<Health> {
    let health = match (view.group(), view.text("/kind")) {
        ("", "Secret") => assess_secret(view),
        ("", "ResourceQuota") => assess_quota(view),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => assess_flow_schema(view)?,
        ("", "ConfigMap" | "ServiceAccount" | "LimitRange" | "Endpoints" | "Event" | "PodTemplate")
        | ("rbac.authorization.k8s.io", _)
        | ("networking.k8s.io", "NetworkPolicy" | "IngressClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", _)
        | ("discovery.k8s.io", "EndpointSlice")
        | ("admissionregistration.k8s.io", _)
        | ("apps", "ControllerRevision")
        | ("coordination.k8s.io", _)
        | ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration")
        | ("node.k8s.io", "RuntimeClass") => healthy(""),
        _ => return None,
    };
    Some(health)
}

fn assess_secret(view: &ObjectView<'_>) -> Health {
    let is_token = view.text("/type") == "kubernetes.io/service-account-token";
    let is_empty = view.value_at("/data").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
    if is_token && is_empty {
        return progressing("TokenNotIssued", "waiting for its token");
    }
    healthy("")
}

/// A flow schema takes effect unless the priority level that it names does not exist; `None` before the API server has said so.
fn assess_flow_schema(view: &ObjectView<'_>) -> Option<Health> {
    let dangling = view.current_condition("Dangling")?;
    Some(match dangling.is_true() {
        true => degraded(dangling.reason_or("Dangling"), dangling.message),
        false => healthy(""),
    })
}

/// A quota is always healthy; from 90 % usage on, the reason is `QuotaNearlyFull`.
fn assess_quota(view: &ObjectView<'_>) -> Health {
    let used = view.value_at("/status/used").and_then(Value::as_object);
    let nearly_full: Vec<&str> = used
        .into_iter()
        .flatten()
        .filter(|(name, used)| {
            let hard = view.value_at("/status/hard").map(|hard| &hard[name.as_str()]);
            matches!((parse_amount(used), hard.and_then(parse_amount)), (Some(used), Some(hard)) if hard > 0.0 && used >= 0.9 * hard)
        })
        .map(|(name, _)| name.as_str())
        .collect();
    if nearly_full.is_empty() {
        return healthy("");
    }
    Health::new(
        HealthStatus::Healthy,
        "QuotaNearlyFull",
        format!("90 % or more used of {}", nearly_full.join(", ")),
    )
}

/// A quantity as a number, only for ratios of the same resource.
fn parse_amount(value: &Value) -> Option<f64> {
    let text = value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|n| n.to_string()))?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1.0,
        "m" => 0.001,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1_024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * factor)
}
