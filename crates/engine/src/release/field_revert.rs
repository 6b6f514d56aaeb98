//! Reverts of single drifted fields that users request (E-9): only these are written back, or none.
//!
//! The other drifted fields are left out of the apply: their managers own them, so the server keeps them. A dry run tells before whether
//! the server changes anything else, as it does in a list that it replaces as a whole. The write is of the version that was compared.

use std::sync::Arc;

use domain::ReleaseId;
use domain::field_path::{FieldPath, ItemMatch, PathSegment, find_item, parse_index};
use domain::managed_fields;
use domain::name_list::join_first;
use domain::object::ObjectRef;
use domain::plan::{FieldChange, diff};
use domain::report::{DriftOutcome, FieldRevertOutcome, FieldRevertRequest};
use serde_json::Value;

use super::drift;
use super::object_action::{ObjectAction, ObjectInput, decide_action};
use super::reconcile_state::ObjectState;
use super::reconciliation::Reconciliation;
use super::retry::{RetryState, failure_message};
use crate::api::{ApiClient, ForceConflicts};
use crate::applied_release::InventoryEntry;
use crate::error::{Error, RetryClass};
use crate::observe::LiveObject;

/// Longest answer, in characters.
const MAX_ANSWER_CHARS: usize = 400;
/// Fields that an answer names; the others are counted.
const MAX_NAMED_FIELDS: usize = 3;

/// Why fields were not reverted.
enum RevertFailure {
    /// Something transient: it is tried again.
    Later(Error),
    /// As a sentence for the user.
    Refused(String),
}

impl From<Error> for RevertFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound(_) => Self::Refused(
                "Not reverted: the object is not on the cluster. Revert the whole workload, which creates it again."
                    .to_owned(),
            ),
            error if error.retry_class() == RetryClass::Soon => Self::Later(error),
            error => Self::Refused(format!("Not reverted: {}", failure_message("", &error))),
        }
    }
}

/// A revert that has succeeded.
struct RevertedFields {
    /// What was written back; empty if none of the fields drifts.
    changes: Vec<FieldChange>,
    before: Value,
    after: Value,
}

/// The revert of some fields of one object.
struct FieldRevert<'a> {
    release: ReleaseId,
    input: ObjectInput<'a>,
    entry: Option<&'a InventoryEntry>,
    /// Differences that the server causes.
    own: &'a [FieldChange],
    selected: &'a [String],
}

/// Executes the request about an object, if there is one that was not answered.
pub(super) async fn run(pass: &mut Reconciliation<'_>, at: usize) {
    let desired = Arc::clone(&pass.targets[at].desired);
    let Some(request) = find_request(pass, &desired.object) else { return };
    let Some(kind) = pass.targets[at].kind.clone() else { return };
    let path = kind.object_path(&desired.object.namespace, &desired.object.name);
    let own = pass.state.object_mut(&desired.object).server_changes.clone();
    let entry = pass.inventory_entry(&desired.object).cloned();
    let rules = pass.object_policies.clone();
    let rule = rules.for_object(&pass.policies, &desired.object);
    let revert = FieldRevert {
        release: pass.release(),
        input: ObjectInput { desired: &desired, policy: &rule },
        entry: entry.as_ref(),
        own: &own,
        selected: &request.paths,
    };
    let api = pass.api();
    // Boxed, because there is hardly ever a request, and every pass has room for it.
    let error = match Box::pin(revert.execute(&api, &path)).await {
        Ok(Some(reverted)) => {
            record_reverted(pass, at, &reverted);
            None
        }
        // It does not drift: what the release does with it is decided as ever.
        Ok(None) => return,
        Err(RevertFailure::Later(error)) => {
            tracing::debug!(object = %desired.object, reason = %error.reason(), "the revert of fields failed; it is retried");
            let before = pass.state.object_mut(&desired.object).revert_failure.take();
            let failure = RetryState::after(before.as_ref(), error, &pass.cx.options);
            pass.wake_at(failure.due);
            pass.state.object_mut(&desired.object).revert_failure = Some(failure);
            return;
        }
        Err(RevertFailure::Refused(why)) => Some(why.chars().take(MAX_ANSWER_CHARS).collect()),
    };
    let object_state = pass.state.object_mut(&desired.object);
    object_state.revert_failure = None;
    object_state.field_revert = Some(FieldRevertOutcome { id: request.id, error });
}

/// The answer about an object, as long as the hub asks for it.
pub(super) fn find_answer(
    requests: &[FieldRevertRequest],
    state: &ObjectState,
) -> Option<FieldRevertOutcome> {
    let answer = state.field_revert.as_ref()?;
    requests.iter().any(|request| request.id == answer.id).then(|| answer.clone())
}

fn find_request(pass: &mut Reconciliation<'_>, object: &ObjectRef) -> Option<FieldRevertRequest> {
    if pass.is_suspended() {
        return None;
    }
    let request =
        pass.request.field_reverts.iter().find(|request| request.object.is_same_object(object)).cloned()?;
    let object_state = pass.state.object_mut(object);
    if object_state.field_revert.as_ref().is_some_and(|answer| answer.id == request.id) {
        return None;
    }
    // Whatever wakes the release, what failed is tried again after its back-off.
    if let Some(due) =
        object_state.revert_failure.as_ref().filter(|failure| !failure.is_due()).map(|one| one.due)
    {
        pass.wake_at(due);
        return None;
    }
    Some(request)
}

fn record_reverted(pass: &mut Reconciliation<'_>, at: usize, reverted: &RevertedFields) {
    if reverted.changes.is_empty() {
        return;
    }
    let desired = Arc::clone(&pass.targets[at].desired);
    let live = LiveObject::from_value(&reverted.after);
    pass.cx.observed.pods.insert_owner(&live);
    if let Some(objects) = &pass.targets[at].cache {
        objects.upsert(live);
    }
    // It counts as no self-heal, because a person has decided it.
    let fields = drift::describe_fields(&reverted.changes, Some(&reverted.before));
    drift::push_drift_note(pass, &desired.object, &fields, Some(&reverted.before), DriftOutcome::Healed);
    let object_state = pass.state.object_mut(&desired.object);
    for change in &reverted.changes {
        object_state.contested.remove(&change.path);
        // The fields that still drift were reported.
        object_state.reported_drift.iter_mut().for_each(|paths| paths.retain(|path| *path != change.path));
    }
}

impl FieldRevert<'_> {
    /// `None` if the object does not drift now, but is missing, deleted, of another release or not applied yet.
    async fn execute(&self, api: &ApiClient, path: &str) -> Result<Option<RevertedFields>, RevertFailure> {
        let before = api.get(path).await?;
        let changes = match self.decide(&before) {
            ObjectAction::Drifted(changes) => changes,
            ObjectAction::InSync => Vec::new(),
            _ => return Ok(None),
        };
        let (selected, others): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| self.selected.contains(&change.path));
        if selected.is_empty() {
            return Ok(Some(RevertedFields { changes: selected, after: before.clone(), before }));
        }
        let body = self.build_body(&before, &others);
        let preview = api.apply(path, body.clone(), ForceConflicts::Yes, true).await?.object;
        self.check_preview(&before, &preview, &selected)?;
        let after = api.apply(path, body, ForceConflicts::Yes, false).await?.object;
        Ok(Some(RevertedFields { changes: selected, before, after }))
    }

    fn decide(&self, live: &Value) -> ObjectAction {
        let mut state = ObjectState { server_changes: self.own.to_vec(), ..ObjectState::default() };
        let live = LiveObject::from_value(live);
        decide_action(self.release, self.input, Some(&live), self.entry, &mut state)
    }

    /// What is applied over `live`: the object without the other drifted fields.
    fn build_body(&self, live: &Value, others: &[FieldChange]) -> Vec<u8> {
        let ObjectInput { desired, policy } = self.input;
        // The text was written from a value.
        let mut body: Value =
            serde_json::from_slice(&desired.apply_body(Some(live), policy, true)).unwrap_or_default();
        for change in others {
            // What Flotilla owns although it differs would be reset if it were omitted. A change of a Secret has no values.
            if managed_fields::is_owned_by_flotilla(live, &change.path)
                && let (Some(kept), Some(value)) =
                    (live.pointer(&change.path), body.pointer_mut(&change.path))
            {
                value.clone_from(kept);
                continue;
            }
            remove_path(&mut body, &change.path);
            if let Some(key) = change.path.strip_prefix("/data/")
                && desired.object.is_kind("", "Secret")
            {
                remove_path(&mut body, &format!("/stringData/{key}"));
            }
        }
        body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        body.to_string().into_bytes()
    }

    /// Checks that the server would revert the fields, and change nothing else.
    fn check_preview(
        &self,
        before: &Value,
        preview: &Value,
        selected: &[FieldChange],
    ) -> Result<(), RevertFailure> {
        let (old, new) = (strip_fields(before, selected), strip_fields(preview, selected));
        if old != new {
            let mut others: Vec<String> =
                diff(&old, &new).into_iter().chain(diff(&new, &old)).map(|change| change.path).collect();
            others.sort();
            others.dedup();
            let named = if others.is_empty() {
                "other fields".to_owned()
            } else {
                join_first(&others, MAX_NAMED_FIELDS)
            };
            return Err(RevertFailure::Refused(format!(
                "It can't be reverted alone: the server would change {named} too, as in a list that it replaces as a whole. \
                 Revert all fields of it together, or sync the cluster."
            )));
        }
        let ObjectAction::Drifted(left) = self.decide(preview) else { return Ok(()) };
        let kept: Vec<String> =
            left.into_iter().map(|change| change.path).filter(|path| self.selected.contains(path)).collect();
        if kept.is_empty() {
            return Ok(());
        }
        let named = join_first(&kept, MAX_NAMED_FIELDS);
        Err(RevertFailure::Refused(format!("Not reverted: the server keeps {named} as it is.")))
    }
}

/// The object without these fields and what the server counts.
fn strip_fields(object: &Value, fields: &[FieldChange]) -> Value {
    let mut value = object.clone();
    let counted = ["/status", "/metadata/managedFields", "/metadata/resourceVersion", "/metadata/generation"];
    counted.iter().for_each(|path| remove_path(&mut value, path));
    fields.iter().for_each(|change| remove_path(&mut value, &change.path));
    drop_empty(&mut value);
    value
}

fn remove_path(value: &mut Value, path: &str) {
    if let Ok(path) = path.parse::<FieldPath>() {
        remove_segments(value, &path.0);
    }
}

fn remove_segments(value: &mut Value, path: &[PathSegment]) {
    let Some((first, rest)) = path.split_first() else { return };
    match (value, first) {
        (Value::Object(map), PathSegment::Key(key)) if rest.is_empty() => {
            map.shift_remove(key);
        }
        (Value::Object(map), PathSegment::Key(key)) => {
            if let Some(child) = map.get_mut(key) {
                remove_segments(child, rest);
            }
        }
        (Value::Array(items), segment) => {
            let index = match segment {
                PathSegment::Key(key) => parse_index(key),
                PathSegment::Item(conditions) => match find_item(items, conditions) {
                    ItemMatch::One(index) => Some(index),
                    ItemMatch::None | ItemMatch::Many => None,
                },
            };
            match index.filter(|index| *index < items.len()) {
                Some(index) if rest.is_empty() => {
                    items.remove(index);
                }
                Some(index) => items.get_mut(index).into_iter().for_each(|item| remove_segments(item, rest)),
                None => {}
            }
        }
        _ => {}
    }
}

/// Removes maps and lists without content, which a removed field leaves.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(drop_empty);
            map.retain(|_, value| match value {
                Value::Object(map) => !map.is_empty(),
                Value::Array(items) => !items.is_empty(),
                _ => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn e9_fields_are_removed_at_every_kind_of_path() {
        let mut value = json!({"a": {"b": 1}, "items": [{"name": "x", "v": 1}, {"name": "y", "v": 2}], "tags": ["p", "q"]});
        for path in ["/a/b", "/items[name=x]/v", "/items[name=y]", "/tags[.=p]", "/tags/7", "/missing/deep"] {
            remove_path(&mut value, path);
        }
        assert_eq!(value, json!({"a": {}, "items": [{"name": "x"}], "tags": ["q"]}));
        drop_empty(&mut value);
        assert_eq!(value, json!({"items": [{"name": "x"}], "tags": ["q"]}));
    }

    #[test]
    fn e9_only_an_answer_that_is_asked_for_is_reported() {
        let request = |id: &str| FieldRevertRequest {
            id: id.to_owned(),
            release: ReleaseId::from_parts(1, 1),
            object: ObjectRef::default(),
            paths: vec!["/data/key".to_owned()],
        };
        let outcome = FieldRevertOutcome { id: "one".to_owned(), error: None };
        let state = ObjectState { field_revert: Some(outcome.clone()), ..ObjectState::default() };
        assert_eq!(find_answer(&[request("one")], &state), Some(outcome));
        assert_eq!(find_answer(&[request("two")], &state), None);
        assert_eq!(find_answer(&[], &state), None);
    }
}
