//! The patch types other than server-side apply: JSON patch, merge patch and strategic merge patch.

mod strategic;

pub(crate) use strategic::apply_strategic_patch;

use serde_json::{Map, Value};

use crate::kinds::ResourceKind;
use crate::status::{ApiResult, StatusError};

/// Applies a JSON patch (RFC 6902).
///
/// # Errors
/// 400 for a body that is not a patch, 422 for a patch that cannot be applied to the object, as on the real server.
pub(crate) fn apply_json_patch(
    kind: &ResourceKind,
    name: &str,
    target: &mut Value,
    body: &[u8],
) -> ApiResult<()> {
    let patch: json_patch::Patch = serde_json::from_slice(body)
        .map_err(|e| StatusError::bad_request(format!("error decoding patch: {e}")))?;
    if patch.0.len() > 10_000 {
        let message = "The allowed maximum operations in a JSON patch is 10000";
        return Err(StatusError::new(413, "RequestEntityTooLarge", message));
    }
    json_patch::patch(target, &patch).map_err(|error| {
        let mut refusal = StatusError::invalid(kind, name, &[]);
        refusal.message = "the server rejected our request due to an error in our request".into();
        tracing::debug!(%error, "the JSON patch was rejected");
        refusal
    })
}

/// Applies a merge patch (RFC 7396).
pub(crate) fn apply_merge_patch(target: &mut Value, patch: &Value) {
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
            apply_merge_patch(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
