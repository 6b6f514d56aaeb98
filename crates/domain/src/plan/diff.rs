//! Comparison of a wanted object with the live one.

use serde_json::{Map, Value};

use super::fields::{Spot, by_key, segment};
use super::{FieldChange, secret};
use crate::object::ObjectRef;
use crate::path::{Path, Segment};
use crate::quantity::Quantity;

/// The fields of `live` that applying `wanted` by server-side apply would change, in the order of `wanted`.
///
/// Only what is in `wanted` counts: defaults and the fields of others in `live` are no difference, nor is a null or
/// empty field that `live` does not have. Quantities are compared by amount, list items by their merge keys, whatever
/// their order; an item that others added to such a list stays. An integer and its text are different (80, "80").
/// Changes of a Secret's values are told without the values.
pub fn diff(wanted: &Value, live: &Value) -> Vec<FieldChange> {
    let kind = wanted["kind"].as_str().unwrap_or_default();
    let is_secret = secret::is_secret(wanted);
    let mut walk = Walk { changes: Vec::new() };
    match (wanted, live) {
        (Value::Object(fields), Value::Object(there)) => {
            let hidden = |field: &str| is_secret && matches!(field, "data" | "stringData");
            for (field, value) in fields.iter().filter(|(field, _)| !hidden(field) && *field != "apiVersion")
            {
                walk.compare(
                    value,
                    there.get(field),
                    &Path::default().key(field),
                    Spot::top(kind).child(field),
                );
            }
            walk.api_version(wanted, live);
        }
        _ if is_secret => {
            let shown = secret::without_values(wanted);
            walk.compare(&shown, Some(live), &Path::default(), Spot::top(kind));
        }
        _ => walk.compare(wanted, Some(live), &Path::default(), Spot::top(kind)),
    }
    if is_secret && live.is_object() {
        walk.changes.extend(secret::changes(wanted, live));
    }
    walk.changes
}

struct Walk {
    changes: Vec<FieldChange>,
}

impl Walk {
    fn compare(&mut self, wanted: &Value, live: Option<&Value>, path: &Path, spot: Spot<'_>) {
        if spot.is_the_clusters() || wanted.is_null() {
            return;
        }
        let live = live.filter(|live| !live.is_null());
        match (wanted, live) {
            (wanted, None) => {
                if !is_nothing(wanted, spot) {
                    self.push(path, Some(wanted), None);
                }
            }
            (Value::Object(wanted), Some(Value::Object(live))) => self.maps(wanted, live, path, spot),
            (Value::Array(items), Some(Value::Array(there))) => self.lists((items, there), path, spot),
            (wanted, Some(live)) if same_scalar(wanted, live, spot) => {}
            (wanted, Some(live)) => self.push(path, Some(wanted), Some(live)),
        }
    }

    /// The version may differ: the server converts. The group may not.
    fn api_version(&mut self, wanted: &Value, live: &Value) {
        let group = |object: &Value| {
            object["apiVersion"].as_str().map(|version| ObjectRef::split_api_version(version).0.to_owned())
        };
        if let (Some(a), Some(b)) = (group(wanted), group(live))
            && a != b
        {
            self.push(&Path::default().key("apiVersion"), wanted.get("apiVersion"), live.get("apiVersion"));
        }
    }

    fn maps(&mut self, wanted: &Map<String, Value>, live: &Map<String, Value>, path: &Path, spot: Spot<'_>) {
        for (field, value) in wanted {
            let there = live.get(field);
            let path = path.key(field);
            if spot.is_texts() {
                self.texts(value, there, &path, spot);
            } else {
                self.compare(value, there, &path, spot.child(field));
            }
        }
        if spot.is_atomic_map() && !wanted.is_empty() {
            for (field, value) in live.iter().filter(|(field, _)| !wanted.contains_key(*field)) {
                self.push(&path.key(field), None, Some(value));
            }
        }
    }

    /// An entry of a map of texts, where an empty text is a text too.
    fn texts(&mut self, wanted: &Value, live: Option<&Value>, path: &Path, spot: Spot<'_>) {
        let same = match live {
            None => wanted.is_null(),
            Some(live) => {
                wanted == live || wanted.is_null() || (spot.field == "binaryData" && same_bytes(wanted, live))
            }
        };
        if !same {
            self.push(path, Some(wanted), live);
        }
    }

    fn lists(&mut self, (wanted, live): (&[Value], &[Value]), path: &Path, spot: Spot<'_>) {
        if spot.is_set() {
            if !wanted.iter().all(|item| live.contains(item)) {
                self.push_lists((wanted, live), path);
            }
            return;
        }
        let keys = spot.keys(wanted);
        if let (Some(items), Some(there)) = (by_key(wanted, keys), by_key(live, keys)) {
            for (key, item) in items {
                let live = there.iter().find(|(other, _)| *other == key).map(|(_, item)| *item);
                self.compare(item, live, &path.with(segment(item, keys)), spot);
            }
            return;
        }
        let maps = |items: &[Value]| items.iter().all(Value::is_object);
        if wanted.len() == live.len() && maps(wanted) && maps(live) {
            // Applied as a whole, but told by field; what the server filled in is no difference.
            for (at, (item, there)) in wanted.iter().zip(live).enumerate() {
                self.compare(item, Some(there), &path.with(Segment::Key(at.to_string())), spot);
            }
        } else if wanted.len() != live.len()
            || !wanted.iter().zip(live).all(|(item, there)| same_item(item, there, spot))
        {
            self.push_lists((wanted, live), path);
        }
    }

    fn push_lists(&mut self, (wanted, live): (&[Value], &[Value]), path: &Path) {
        self.push(path, Some(&Value::Array(wanted.to_vec())), Some(&Value::Array(live.to_vec())));
    }

    fn push(&mut self, path: &Path, wanted: Option<&Value>, live: Option<&Value>) {
        self.changes.push(FieldChange {
            path: path.to_string(),
            wanted: wanted.cloned(),
            live: live.cloned(),
        });
    }
}

/// Whether applying this where there is nothing leaves nothing.
fn is_nothing(wanted: &Value, spot: Spot<'_>) -> bool {
    match wanted {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(_) if spot.means_something_empty() => false,
        Value::Object(map) if spot.is_texts() => map.values().all(Value::is_null),
        Value::Object(map) => map.iter().all(|(field, value)| is_nothing(value, spot.child(field))),
        scalar => spot.is_dropped_when_zero(scalar) || spot.is_left_to_the_server(scalar),
    }
}

fn same_scalar(wanted: &Value, live: &Value, spot: Spot<'_>) -> bool {
    // Only fractions are compared as such: large integers would lose their last digits.
    let same_number = |a: &serde_json::Number, b: &serde_json::Number| {
        (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
    };
    let equal = match (wanted, live) {
        (Value::Number(a), Value::Number(b)) => a == b || same_number(a, b),
        _ => wanted == live,
    };
    equal || spot.is_left_to_the_server(wanted) || (spot.is_quantity() && same_amount(wanted, live))
}

/// The API server rewrites quantities into its own form: as texts they would differ for ever.
fn same_amount(wanted: &Value, live: &Value) -> bool {
    Quantity::of(wanted).is_some_and(|amount| Quantity::of(live) == Some(amount))
}

fn same_item(wanted: &Value, live: &Value, spot: Spot<'_>) -> bool {
    let mut inner = Walk { changes: Vec::new() };
    inner.compare(wanted, Some(live), &Path::default(), spot);
    inner.changes.is_empty()
}

fn same_bytes(wanted: &Value, live: &Value) -> bool {
    let bytes = |value: &Value| value.as_str().and_then(secret::decoded);
    bytes(wanted).is_some_and(|wanted| Some(wanted) == bytes(live))
}
