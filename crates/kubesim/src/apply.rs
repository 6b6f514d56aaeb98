//! Server-side apply and the bookkeeping of who owns which field.
//!
//! The rules are those of Kubernetes' structured merge: an applier owns exactly what it sends, what it stops
//! sending goes unless somebody else owns it, and changing a field another manager owns is a conflict unless forced.
//! [`fields`] holds sets of field paths, [`managed`] their form in `metadata.managedFields`.

pub(crate) mod compare;
pub(crate) mod fields;
pub(crate) mod managed;
pub(crate) mod merge;

use serde_json::Value;

use crate::object;
use crate::schema::Ty;
use crate::status::{Answer, Cause, Refusal};
use compare::compare;
use fields::{FieldSet, field_set};
use managed::{Entry, Managers, Operation};

/// Who writes, and through what.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub manager: &'a str,
    pub subresource: &'a str,
    pub api_version: &'a str,
    pub now: &'a str,
}

/// Applies `config` onto `live` (an empty object when it is created).
///
/// # Errors
/// A conflict that names every field and its owner, unless `force`; a config with duplicate list keys.
pub(crate) fn apply(
    live: &Value,
    config: &Value,
    ty: Ty<'_>,
    writer: Writer<'_>,
    force: bool,
) -> Answer<Value> {
    let mut config = config.clone();
    object::remove(&mut config, "metadata.managedFields");
    strip_reset(&mut config, writer.subresource);
    let mut managers = Managers::of(live);
    if managers.is_empty() && !object::uid(live).is_empty() {
        managers.adopt(field_set(live, ty).without_identity(), writer);
    }
    let wanted = field_set(&config, ty).without_identity();
    let last = managers.applied(writer).cloned();
    let mut merged = live.clone();
    object::remove(&mut merged, "metadata.managedFields");
    merge::merge(&mut merged, &config, ty);
    managers.put_applied(writer, wanted);
    if let Some(last) = &last {
        merge::prune(&mut merged, last, &managers.union(), ty);
    }
    let diff = compare(live, &merged, ty);
    let touched = diff.modified.union(&diff.added).without_identity();
    let conflicts = managers.conflicts(writer, &touched);
    if !conflicts.is_empty() {
        if !force {
            return Err(refuse(&conflicts));
        }
        managers.take_from(&conflicts);
    }
    managers.drop_removed(&diff.removed);
    managers.write(&mut merged);
    Ok(merged)
}

/// Records in `new` what `writer` changed against `live` by a plain write.
pub(crate) fn record(live: &Value, new: &mut Value, ty: Ty<'_>, writer: Writer<'_>) {
    let mut managers = Managers::of(live);
    let sent = object::at(new, "metadata.managedFields");
    if sent
        .and_then(Value::as_array)
        .is_some_and(|l| l.is_empty() || l[0].as_object().is_some_and(|m| m.is_empty()))
    {
        // An explicit empty list resets the bookkeeping.
        managers = Managers::default();
    }
    let diff = compare(live, new, ty);
    let changed = diff.modified.union(&diff.added).without_identity().within(writer.subresource);
    let removed = diff.removed.without_identity();
    if !changed.is_empty() || !removed.is_empty() {
        let conflicts = managers.conflicts_of_update(writer, &changed);
        managers.take_from(&conflicts);
        managers.drop_removed(&removed);
        managers.extend_updated(writer, &changed, &removed);
    }
    managers.write(new);
}

/// An applier of the main object has no say in status, one of status in nothing else.
fn strip_reset(config: &mut Value, subresource: &str) {
    if subresource == "status" {
        object::remove(config, "spec");
        object::remove(config, "metadata.labels");
        object::remove(config, "metadata.annotations");
    } else {
        object::remove(config, "status");
    }
}

fn refuse(conflicts: &[(Entry, FieldSet)]) -> Refusal {
    let mut causes = Vec::new();
    let mut blocks: Vec<(String, Vec<String>)> = Vec::new();
    for (entry, set) in conflicts {
        let paths = set.paths();
        let shown = shown(entry);
        for path in &paths {
            causes.push(Cause {
                reason: "FieldManagerConflict",
                message: format!("conflict with {shown}"),
                field: path.clone(),
            });
        }
        blocks.push((shown, paths));
    }
    blocks.sort();
    let message = if let [only] = &causes[..] {
        format!("Apply failed with 1 conflict: {}: {}", only.message, only.field)
    } else {
        let lines = blocks.iter().map(|(who, paths)| {
            let paths: Vec<String> = paths.iter().map(|p| format!("- {p}")).collect();
            format!("conflicts with {who}:\n{}", paths.join("\n"))
        });
        format!("Apply failed with {} conflicts: {}", causes.len(), lines.collect::<Vec<_>>().join("\n"))
    };
    Refusal::apply_conflict(message, &causes)
}

fn shown(entry: &Entry) -> String {
    let mut shown = format!("{:?}", entry.manager);
    if !entry.subresource.is_empty() {
        shown.push_str(&format!(" with subresource {:?}", entry.subresource));
    }
    if entry.operation == Operation::Update {
        shown.push_str(&format!(" using {}", entry.api_version));
    }
    shown
}

#[cfg(test)]
mod tests;
