//! Fields that are no longer wanted.

use serde_json::Value;

use super::fields::{Spot, by_key, segment};
use super::{FieldChange, secret};
use crate::path::Path;

/// The fields that `previous_wanted` set, `wanted` does not and `live` still has: server-side apply takes them away,
/// because nobody else owns them. What others put beside them stays, so a field is told as a whole only where nobody did.
pub fn removed_since(previous_wanted: &Value, wanted: &Value, live: &Value) -> Vec<FieldChange> {
    let kind = previous_wanted["kind"].as_str().unwrap_or_default();
    let is_secret = secret::is_secret(previous_wanted);
    let mut changes = Vec::new();
    let fields = previous_wanted.as_object().into_iter().flatten();
    for (field, value) in fields.filter(|(field, _)| !matches!(field.as_str(), "apiVersion" | "kind")) {
        if is_secret && matches!(field.as_str(), "data" | "stringData") {
            continue;
        }
        let was = Was { wanted: wanted.get(field), live: live.get(field) };
        walk(value, was, &Path::default().key(field), Spot::top(kind).child(field), &mut changes);
    }
    if is_secret {
        changes.extend(secret::removed(previous_wanted, wanted, live));
    }
    changes
}

/// What became of a field.
#[derive(Clone, Copy)]
struct Was<'a> {
    wanted: Option<&'a Value>,
    live: Option<&'a Value>,
}

impl<'a> Was<'a> {
    fn field(self, field: &str) -> Self {
        Self { wanted: self.wanted.and_then(|w| w.get(field)), live: self.live.and_then(|l| l.get(field)) }
    }
}

fn walk(previous: &Value, was: Was<'_>, path: &Path, spot: Spot<'_>, changes: &mut Vec<FieldChange>) {
    let Some(live) = was.live.filter(|live| !live.is_null()) else { return };
    let is_name = spot.depth == 2 && spot.parent == "metadata" && matches!(spot.field, "name" | "namespace");
    if spot.is_the_clusters() || is_name || previous.is_null() {
        return;
    }
    let wanted = was.wanted.filter(|wanted| !wanted.is_null());
    match (previous, wanted, live) {
        (Value::Object(fields), wanted, Value::Object(_))
            if wanted.is_some_and(Value::is_object)
                || (wanted.is_none() && !covers(previous, live, spot)) =>
        {
            for (field, value) in fields {
                walk(value, was.field(field), &path.key(field), spot.child(field), changes);
            }
        }
        (Value::Array(items), wanted, Value::Array(there))
            if wanted.is_none_or(Value::is_array) && !spot.keys(items).is_empty() =>
        {
            let wanted = wanted.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            lists((items, wanted, there), path, spot, changes);
        }
        (_, None, live) => changes.push(gone(path, live)),
        // Something else is wanted in its place: that is a change, not a removal.
        _ => {}
    }
}

fn lists(
    (previous, wanted, live): (&[Value], &[Value], &[Value]),
    path: &Path,
    spot: Spot<'_>,
    changes: &mut Vec<FieldChange>,
) {
    let keys = spot.keys(previous);
    let (Some(previous), Some(wanted), Some(live)) =
        (by_key(previous, keys), by_key(wanted, keys), by_key(live, keys))
    else {
        return;
    };
    for (key, item) in previous {
        let find = |items: &[(Vec<String>, &Value)]| items.iter().position(|(other, _)| *other == key);
        let Some(there) = find(&live).map(|at| live[at].1) else { continue };
        let path = path.with(segment(item, keys));
        match find(&wanted).map(|at| wanted[at].1) {
            Some(kept) => walk(item, Was { wanted: Some(kept), live: Some(there) }, &path, spot, changes),
            None => changes.push(gone(&path, there)),
        }
    }
}

/// Whether everything in `live` was set by `previous`.
fn covers(previous: &Value, live: &Value, spot: Spot<'_>) -> bool {
    match (previous, live) {
        (Value::Object(previous), Value::Object(live)) => live.iter().all(|(field, live)| {
            previous.get(field).is_some_and(|previous| covers(previous, live, spot.child(field)))
        }),
        (Value::Array(previous), Value::Array(live)) => {
            let keys = spot.keys(previous);
            match (by_key(previous, keys), by_key(live, keys)) {
                (Some(previous), Some(live)) => {
                    live.iter().all(|(key, _)| previous.iter().any(|(other, _)| other == key))
                }
                _ => true,
            }
        }
        _ => true,
    }
}

fn gone(path: &Path, live: &Value) -> FieldChange {
    FieldChange { path: path.to_string(), wanted: None, live: Some(live.clone()) }
}
