//! What the controllers that own pods share: names of templates, making pods, counting them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Works, owner_reference};
use crate::object::{self, at, int, text};
use crate::store::Stored;

/// A short name for a text, from letters that form no words.
pub(crate) fn hash(text: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(10).map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()])).collect()
}

/// The name of a pod template.
pub(crate) fn template_hash(template: &Value) -> String {
    hash(&sorted(template).to_string())
}

/// The value with all maps in key order, so that the order in which fields were written does not matter.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(k, v)| (k.clone(), sorted(v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// A pod from its owner's template.
pub(crate) fn from_template(owner: &Value, template: &Value) -> Value {
    let mut metadata = template.get("metadata").cloned().unwrap_or_else(|| json!({}));
    metadata["namespace"] = object::namespace(owner).into();
    metadata["ownerReferences"] = vec![owner_reference(owner)].into();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// Whether a pod still counts for its owner.
pub(crate) fn active(pod: &Value) -> bool {
    !object::deleting(pod) && !matches!(text(pod, "status.phase"), "Succeeded" | "Failed")
}

/// Whether a pod is ready.
pub(crate) fn ready(pod: &Value) -> bool {
    object::condition(pod, "Ready").is_some_and(|c| text(c, "status") == "True")
}

/// How many pods are ready, how many have been for long enough, and when the next one will have been.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub ready: i64,
    pub available: i64,
    pub again: Option<Duration>,
}

/// Counts the pods of an owner with `minReadySeconds`.
pub(crate) fn count(works: &Works, pods: &[Arc<Stored>], owner: &Value) -> Count {
    let wait =
        Duration::from_secs(u64::try_from(int(owner, "spec.minReadySeconds").unwrap_or(0)).unwrap_or(0));
    let mut count = Count::default();
    for pod in pods.iter().filter(|p| ready(&p.value)) {
        count.ready += 1;
        let since = works.memory.ready.get(object::uid(&pod.value)).copied();
        let left = since.and_then(|since| works.until(since + wait)).filter(|_| !wait.is_zero());
        match left {
            None => count.available += 1,
            Some(left) => count.again = Some(count.again.map_or(left, |again| again.min(left))),
        }
    }
    count
}

/// A number or a share of `whole`.
pub(crate) fn share(value: Option<&Value>, whole: i64, round_up: bool) -> i64 {
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

/// How long to wait after so many failures in a row.
pub(crate) fn back_off(failures: u32) -> Duration {
    Duration::from_secs(1 << failures.min(6))
}

/// The template of an owner.
pub(crate) fn template(owner: &Value) -> Value {
    at(owner, "spec.template").cloned().unwrap_or_default()
}
