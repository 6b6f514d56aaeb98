//! Replacement of jobs: the fields of a Job that define what runs are immutable, so a changed one is deleted and created
//! again, if the policy allows it. The API server decides which changes need it.

use domain::object::ObjectRef;
use domain::plan::diff;
use domain::policy::ChangedJobsPolicy;
use serde_json::Value;

use super::finalizers::describe_finalizers;
use super::object_action::ObjectInput;
use super::reconciliation::Reconciliation;
use super::refused_change::explain_rejection;
use crate::api::{ApiClient, ApplyResponse, ServedKind};
use crate::error::Error;
use crate::observe::LiveObject;

/// The object whose apply was rejected.
#[derive(Clone, Copy)]
pub(super) struct ReplaceInput<'a> {
    pub resource: &'a ServedKind,
    pub input: ObjectInput<'a>,
    /// Recorded uid of the last apply.
    pub uid: &'a str,
}

/// Deletes a job of this release if its apply was rejected only because of immutable fields; the next pass creates it. Otherwise
/// the error names all of them. What is refused for another reason is explained.
///
/// A crash after the deletion is harmless: the record has the hash of the old content, so the job is created.
pub(super) async fn replace_if_immutable(
    pass: &Reconciliation<'_>,
    api: &ApiClient,
    replaced: ReplaceInput<'_>,
    result: Result<ApplyResponse, Error>,
) -> Result<ApplyResponse, Error> {
    let ReplaceInput { resource, input, uid } = replaced;
    let error = match result {
        Err(error @ Error::ImmutableField { .. }) => error,
        Err(error) => return Err(explain_rejection(&pass.cx.api, resource, error).await),
        Ok(applied) => return Ok(applied),
    };
    let object = &input.desired.object;
    let path = resource.object_path(&object.namespace, &object.name);
    let live = match api.get(&path).await {
        Ok(live) => live,
        Err(_) => return Err(error),
    };
    let found = LiveObject::from_value(&live);
    let is_owned = found.is_applied_by(pass.release(), uid);
    if !is_owned || !can_replace(pass.policies.changed_jobs, object, &error) {
        return Err(name_immutable_fields(error, input, &live));
    }
    if found.deleting {
        return Err(Error::ObjectTerminating(describe_finalizers(&live)));
    }
    if !has_job_ended(&live) {
        return Err(Error::JobRunning);
    }
    tracing::info!(%object, release = %pass.release(), "a changed job is deleted and created again");
    match api.delete(&path, &found.uid, "Background").await {
        Ok(()) | Err(Error::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    // It is created once it is gone, after the record says that it may be another one.
    let left = api.get(&path).await.map(|live| describe_finalizers(&live)).unwrap_or_default();
    Err(Error::ObjectTerminating(left))
}

/// Whether an object of the release is replaced after this rejection.
pub(crate) fn can_replace(policy: ChangedJobsPolicy, object: &ObjectRef, error: &Error) -> bool {
    object.is_job()
        && policy == ChangedJobsPolicy::Replace
        && matches!(error, Error::ImmutableField { is_only_cause: true, .. })
}

/// Whether a job has completed, failed, or is suspended without pods.
fn has_job_ended(job: &Value) -> bool {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    let is_over = |condition: &Value| {
        matches!(condition["type"].as_str(), Some("Complete" | "Failed")) && condition["status"] == "True"
    };
    let is_suspended = job.pointer("/spec/suspend") == Some(&Value::Bool(true));
    let active = job.pointer("/status/active").and_then(Value::as_i64).unwrap_or(0);
    conditions.into_iter().flatten().any(is_over) || is_suspended && active == 0
}

/// The error with every changed field, if the server only names their common parent, as for a StatefulSet.
pub(crate) fn name_immutable_fields(error: Error, input: ObjectInput<'_>, live: &Value) -> Error {
    let Error::ImmutableField { fields, is_only_cause, message } = error else { return error };
    if !fields.is_empty() && fields.iter().all(|field| field != "spec") {
        return Error::ImmutableField { fields, is_only_cause, message };
    }
    let changes = diff(&input.desired.comparable_value(input.policy, live), live);
    let changed: Vec<&str> = changes.iter().filter_map(|change| change.path.strip_prefix("/spec/")).collect();
    // The message lists the fields that may change.
    let is_mutable = |path: &str| path.split('/').next().is_some_and(|field| message.contains(field));
    let immutable: Vec<&str> = changed.iter().copied().filter(|path| !is_mutable(path)).collect();
    let named = if immutable.is_empty() { changed } else { immutable };
    let mut named: Vec<String> =
        named.into_iter().map(|path| format!("spec.{}", path.replace('/', "."))).collect();
    named.sort();
    named.dedup();
    let fields = if named.is_empty() { fields } else { named };
    Error::ImmutableField { fields, is_only_cause, message }
}
