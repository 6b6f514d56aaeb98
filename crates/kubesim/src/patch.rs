//! The three older ways to patch: JSON patch, merge patch and strategic merge patch.

mod strategic;

pub(crate) use strategic::strategic;

use serde_json::{Map, Value};

use crate::kinds::Kind;
use crate::status::{Answer, Refusal};

/// RFC 6902.
///
/// # Errors
/// 400 for a body that is no patch, 422 for one that does not fit the object, as the real server answers.
pub(crate) fn json(kind: &Kind, name: &str, target: &mut Value, body: &[u8]) -> Answer<()> {
    let patch: json_patch::Patch = serde_json::from_slice(body)
        .map_err(|e| Refusal::bad_request(format!("error decoding patch: {e}")))?;
    if patch.0.len() > 10_000 {
        let message = "The allowed maximum operations in a JSON patch is 10000";
        return Err(Refusal::new(413, "RequestEntityTooLarge", message));
    }
    json_patch::patch(target, &patch).map_err(|error| {
        let mut refusal = Refusal::invalid(kind, name, &[]);
        refusal.message = "the server rejected our request due to an error in our request".into();
        tracing::debug!(%error, "JSON patch refused");
        refusal
    })
}

/// RFC 7396.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(target) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.shift_remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
