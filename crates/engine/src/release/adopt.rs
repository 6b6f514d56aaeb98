//! Adoption of objects that existed before their first apply.

use domain::field_path::escape_pointer_token;
use domain::managed_fields;
use serde_json::{Value, json};

use super::object_action::ObjectInput;
use crate::api::{ApiClient, ApplyResponse};
use crate::error::Error;

/// The field manager of Helm.
const HELM_MANAGER: &str = "helm";
/// Beginning of the names under which kubectl writes: `kubectl-client-side-apply`, `kubectl-create`, `kubectl-edit`.
const KUBECTL_MANAGERS: &str = "kubectl";
/// Number of tries to write the managed fields of an object that others write too.
const WRITES_MAX: usize = 5;

/// Ends the ownership of the fields of an adopted object by whoever wrote it from the same manifest before: kubectl, except for
/// its server-side apply, and Helm if its release is adopted. Otherwise a field that a later revision no longer has would stay.
pub(super) async fn release_former_fields(
    api: &ApiClient,
    path: &str,
    applied: ApplyResponse,
    is_helm_release: bool,
) -> Result<ApplyResponse, Error> {
    let is_former = |manager: &str, operation: &str| {
        manager.starts_with(KUBECTL_MANAGERS) && operation == "Update"
            || is_helm_release && manager == HELM_MANAGER
    };
    let mut applied = applied;
    for _ in 0..WRITES_MAX {
        let Some(others) = managed_fields::without_managers(&applied.object, is_former) else { break };
        let version = &applied.object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"managedFields": others, "resourceVersion": version}});
        match api.merge_patch(path, &patch).await {
            Ok(object) => return Ok(ApplyResponse { object, ..applied }),
            // Somebody wrote it in the meantime, so its managed fields are others.
            Err(Error::Conflict(_)) => applied.object = api.get(path).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(applied)
}

/// Checks that an apply would change nothing of an existing object except Flotilla's label and annotations.
pub(crate) fn check_identical(
    ObjectInput { desired, policy: rule }: ObjectInput<'_>,
    existing: &Value,
) -> Result<(), Error> {
    let mut changes = domain::plan::diff(&desired.comparable_value(rule, existing), existing);
    let is_mark = |path: &str| {
        crate::desired_object::OWNERSHIP_KEYS.iter().any(|mark| path.ends_with(&escape_pointer_token(mark)))
            || matches!(path, "/metadata/labels" | "/metadata/annotations")
    };
    changes.retain(|change| !is_mark(&change.path) && !rule.is_ignored(&change.path));
    let has_same_metadata = |field: &str| {
        let desired = desired.comparable_value(rule, existing);
        let entries = desired["metadata"][field].as_object().cloned().unwrap_or_default();
        entries
            .into_iter()
            .filter(|(key, _)| !crate::desired_object::OWNERSHIP_KEYS.contains(&key.as_str()))
            .all(|(key, value)| existing["metadata"][field].get(&key) == Some(&value))
    };
    let mut fields: Vec<String> = changes.into_iter().map(|change| change.path).collect();
    for field in ["labels", "annotations"] {
        if !has_same_metadata(field)
            && !fields.iter().any(|path| path.starts_with(&format!("/metadata/{field}")))
        {
            fields.push(format!("/metadata/{field}"));
        }
    }
    if fields.is_empty() { Ok(()) } else { Err(Error::NotIdentical(fields)) }
}
