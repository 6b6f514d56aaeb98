//! Changes of custom objects that the server refuses because of what the object is now: a rule of the definition compares both
//! (`oldSelf`), and its message is a text of its own.

use serde_json::Value;

use crate::api::{ApiClient, ForceConflicts, ServedKind};
use crate::desired_object::DesiredObject;
use crate::error::Error;

/// Longest name of an object, in bytes.
const MAX_NAME_BYTES: usize = 253;
/// The end of a name that no object has.
const SUFFIX: &str = "-flotilla-dry-run";

/// The error of an object on the cluster whose new content was rejected as invalid: [`Error::ChangeRefused`] if the server accepts the
/// same content in a new object, which it compares with no other one. Costs one dry run.
pub(crate) async fn explain_rejection(
    api: &ApiClient,
    resource: &ServedKind,
    desired: &DesiredObject,
    error: Error,
) -> Error {
    let Error::Invalid(message) = error else { return error };
    let object = &desired.object;
    // Kinds of Kubernetes have no rules of their own; the messages of their immutable fields are known.
    if !object.group.contains('.') {
        return Error::Invalid(message);
    }
    let name = other_name(&object.name);
    let mut content = desired.value();
    content["metadata"]["name"] = Value::from(name.as_str());
    let path = resource.object_path(&object.namespace, &name);
    match api.apply(&path, content.to_string().into_bytes(), ForceConflicts::No, true).await {
        Ok(applied) if applied.created => Error::ChangeRefused(message),
        // Whatever else it says is about the other object.
        _ => Error::Invalid(message),
    }
}

/// A valid name beside this one.
fn other_name(name: &str) -> String {
    let kept: String = name.chars().take(MAX_NAME_BYTES - SUFFIX.len()).collect();
    format!("{}{SUFFIX}", kept.trim_end_matches(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_name_is_valid_whatever_the_name_is() {
        assert_eq!(other_name("night"), "night-flotilla-dry-run");
        let long = other_name(&format!("{}.{}", "a".repeat(235), "b".repeat(17)));
        assert_eq!(long.len(), MAX_NAME_BYTES - 1, "{long}");
        assert!(long.ends_with("a-flotilla-dry-run"), "{long}");
    }
}
