//! Helpers of the controllers that own pods: template hashes, creating pods, counting them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ControllerContext, owner_reference};
use crate::object::{self, i64_at, str_at, value_at};
use crate::store::StoredObject;

/// A short hash of a text, in Kubernetes' alphabet without vowels.
pub(crate) fn short_hash(text: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(10).map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()])).collect()
}

/// The hash of a pod template.
pub(crate) fn template_hash(template: &Value) -> String {
    short_hash(&sort_keys(template).to_string())
}

/// The value with all maps in key order, so that the hash does not depend on the field order.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(k, v)| (k.clone(), sort_keys(v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sort_keys).collect()),
        other => other.clone(),
    }
}

/// A pod from its owner's template.
pub(crate) fn pod_from_template(owner: &Value, template: &Value) -> Value {
    let mut metadata = template.get("metadata").cloned().unwrap_or_else(|| json!({}));
    metadata["namespace"] = object::namespace(owner).into();
    metadata["ownerReferences"] = vec![owner_reference(owner)].into();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// Whether a pod counts for its owner: neither terminating nor finished.
pub(crate) fn is_active(pod: &Value) -> bool {
    !object::is_deleting(pod) && !matches!(str_at(pod, "status.phase"), "Succeeded" | "Failed")
}

/// Whether a pod is ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    object::condition(pod, "Ready").is_some_and(|c| str_at(c, "status") == "True")
}

/// The number of ready pods, of those ready for `minReadySeconds` (available), and the delay until the next becomes
/// available.
#[derive(Debug, Default)]
pub(crate) struct ReadyCounts {
    pub ready: i64,
    pub available: i64,
    pub recheck_after: Option<Duration>,
}

/// Counts the pods of an owner with `minReadySeconds`.
pub(crate) fn count_ready(ctx: &ControllerContext, pods: &[Arc<StoredObject>], owner: &Value) -> ReadyCounts {
    let wait =
        Duration::from_secs(u64::try_from(i64_at(owner, "spec.minReadySeconds").unwrap_or(0)).unwrap_or(0));
    let mut count = ReadyCounts::default();
    for pod in pods.iter().filter(|p| is_ready(&p.value)) {
        count.ready += 1;
        let since = ctx.state.ready_since.get(object::uid(&pod.value)).copied();
        let left = since.and_then(|since| ctx.time_until(since + wait)).filter(|_| !wait.is_zero());
        match left {
            None => count.available += 1,
            Some(left) => {
                count.recheck_after = Some(count.recheck_after.map_or(left, |again| again.min(left)))
            }
        }
    }
    count
}

/// Resolves a number or a percentage of `whole`.
pub(crate) fn resolve_int_or_percent(value: Option<&Value>, whole: i64, round_up: bool) -> i64 {
    match value {
        Some(Value::Number(number)) => number.as_i64().unwrap_or(0),
        Some(Value::String(text)) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let exact = percent * whole;
            if round_up { (exact + 99) / 100 } else { exact / 100 }
        }
        _ => 0,
    }
}

/// The delay after that many consecutive failures: 1 s, doubling up to 64 s.
pub(crate) fn backoff_delay(failures: u32) -> Duration {
    Duration::from_secs(1 << failures.min(6))
}

/// The template of an owner.
pub(crate) fn pod_template(owner: &Value) -> Value {
    value_at(owner, "spec.template").cloned().unwrap_or_default()
}
