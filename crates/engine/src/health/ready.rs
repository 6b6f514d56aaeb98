//! Kinds that are healthy once they exist (`health.md` C.1, last row).

use domain::health::{Health, HealthStatus};
use serde_json::Value;

use super::view::View;
use super::{healthy, progressing};

/// The health of a kind that has none of its own; `None` for every other kind.
pub(super) fn assess(view: &View<'_>) -> Option<Health> {
    let health = match (view.group(), view.text("/kind")) {
        ("", "Secret") => secret(view),
        ("", "ResourceQuota") => quota(view),
        ("", "ConfigMap" | "ServiceAccount" | "LimitRange" | "Endpoints" | "Event" | "PodTemplate")
        | ("rbac.authorization.k8s.io", _)
        | ("networking.k8s.io", "NetworkPolicy" | "IngressClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", _)
        | ("discovery.k8s.io", "EndpointSlice")
        | ("admissionregistration.k8s.io", _)
        | ("apps", "ControllerRevision")
        | ("coordination.k8s.io", _)
        | ("node.k8s.io", "RuntimeClass") => healthy(""),
        _ => return None,
    };
    Some(health)
}

fn secret(view: &View<'_>) -> Health {
    let is_token = view.text("/type") == "kubernetes.io/service-account-token";
    let is_empty = view.at("/data").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
    if is_token && is_empty {
        return progressing("TokenNotIssued", "waiting for its token");
    }
    healthy("")
}

/// A quota is healthy however full it is; a nearly full one is worth a note.
fn quota(view: &View<'_>) -> Health {
    let used = view.at("/status/used").and_then(Value::as_object);
    let tight: Vec<&str> = used
        .into_iter()
        .flatten()
        .filter(|(name, used)| {
            let hard = view.at("/status/hard").map(|hard| &hard[name.as_str()]);
            matches!((amount(used), hard.and_then(amount)), (Some(used), Some(hard)) if hard > 0.0 && used >= 0.9 * hard)
        })
        .map(|(name, _)| name.as_str())
        .collect();
    if tight.is_empty() {
        return healthy("");
    }
    Health::new(
        HealthStatus::Healthy,
        "QuotaNearlyFull",
        format!("90 % or more are used of {}", tight.join(", ")),
    )
}

/// A quantity as a number; only ratios of the same resource are taken of it.
fn amount(value: &Value) -> Option<f64> {
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
