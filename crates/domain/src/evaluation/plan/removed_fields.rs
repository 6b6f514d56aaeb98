//! Fields that are no longer desired.

use serde_json::Value;

use super::fields::{FieldContext, index_by_merge_keys, item_segment};
use super::{FieldChange, secret};
use crate::kubernetes::field_path::FieldPath;

/// The fields that `previous` set, `desired` does not and `live` still has: server-side apply removes them, because no
/// other manager owns them. Fields of other managers beside them stay, so a map without such fields is returned whole.
pub fn find_removed_fields(previous: &Value, desired: &Value, live: &Value) -> Vec<FieldChange> {
    let kind = previous["kind"].as_str().unwrap_or_default();
    let is_secret = secret::is_secret(previous);
    let mut changes = Vec::new();
    let fields = previous.as_object().into_iter().flatten();
    for (field, value) in fields.filter(|(field, _)| !matches!(field.as_str(), "apiVersion" | "kind")) {
        if is_secret && matches!(field.as_str(), "data" | "stringData") {
            continue;
        }
        let was = FieldState { desired: desired.get(field), live: live.get(field) };
        collect_removed(
            value,
            was,
            &FieldPath::default().with_key(field),
            FieldContext::root(kind).child(field),
            &mut changes,
        );
    }
    if is_secret {
        secret::hide_annotations(&mut changes);
        changes.extend(secret::find_removed_keys(previous, desired, live));
    }
    changes
}

/// A field in the desired and in the live object.
#[derive(Clone, Copy)]
struct FieldState<'a> {
    desired: Option<&'a Value>,
    live: Option<&'a Value>,
}

impl<'a> FieldState<'a> {
    fn field(self, field: &str) -> Self {
        Self { desired: self.desired.and_then(|w| w.get(field)), live: self.live.and_then(|l| l.get(field)) }
    }
}

fn collect_removed(
    previous: &Value,
    was: FieldState<'_>,
    path: &FieldPath,
    context: FieldContext<'_>,
    changes: &mut Vec<FieldChange>,
) {
    let Some(live) = was.live.filter(|live| !live.is_null()) else { return };
    let is_name =
        context.depth == 2 && context.parent == "metadata" && matches!(context.field, "name" | "namespace");
    if context.is_server_owned() || is_name || previous.is_null() {
        return;
    }
    let desired = was.desired.filter(|desired| !desired.is_null());
    match (previous, desired, live) {
        (Value::Object(fields), desired, Value::Object(_))
            if desired.is_some_and(Value::is_object)
                || (desired.is_none() && !covers(previous, live, context)) =>
        {
            for (field, value) in fields {
                collect_removed(
                    value,
                    was.field(field),
                    &path.with_key(field),
                    context.child(field),
                    changes,
                );
            }
        }
        (Value::Array(items), desired, Value::Array(existing))
            if desired.is_none_or(Value::is_array) && !context.merge_keys(items).is_empty() =>
        {
            let desired = desired.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            collect_removed_items((items, desired, existing), path, context, changes);
        }
        (_, None, live) => changes.push(removed_field(path, live)),
        // Another value is desired in its place: that is a change, not a removal.
        _ => {}
    }
}

fn collect_removed_items(
    (previous, desired, live): (&[Value], &[Value], &[Value]),
    path: &FieldPath,
    context: FieldContext<'_>,
    changes: &mut Vec<FieldChange>,
) {
    let keys = context.merge_keys(previous);
    let (Some(previous), Some(desired), Some(live)) = (
        index_by_merge_keys(previous, keys),
        index_by_merge_keys(desired, keys),
        index_by_merge_keys(live, keys),
    ) else {
        return;
    };
    for (key, item) in previous {
        let find = |items: &[(Vec<String>, &Value)]| items.iter().position(|(other, _)| *other == key);
        let Some(existing) = find(&live).map(|at| live[at].1) else { continue };
        let path = path.with_segment(item_segment(item, keys));
        match find(&desired).map(|at| desired[at].1) {
            Some(desired) => collect_removed(
                item,
                FieldState { desired: Some(desired), live: Some(existing) },
                &path,
                context,
                changes,
            ),
            None => changes.push(removed_field(&path, existing)),
        }
    }
}

/// Whether everything in `live` was set by `previous`.
fn covers(previous: &Value, live: &Value, context: FieldContext<'_>) -> bool {
    match (previous, live) {
        (Value::Object(previous), Value::Object(live)) => live.iter().all(|(field, live)| {
            previous.get(field).is_some_and(|previous| covers(previous, live, context.child(field)))
        }),
        (Value::Array(previous), Value::Array(live)) => {
            let keys = context.merge_keys(previous);
            match (index_by_merge_keys(previous, keys), index_by_merge_keys(live, keys)) {
                (Some(previous), Some(live)) => {
                    live.iter().all(|(key, _)| previous.iter().any(|(other, _)| other == key))
                }
                _ => true,
            }
        }
        _ => true,
    }
}

fn removed_field(path: &FieldPath, live: &Value) -> FieldChange {
    FieldChange { path: path.to_string(), desired: None, live: Some(live.clone()) }
}
