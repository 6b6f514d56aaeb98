//! Size limits: no object over the limit of etcd, no bundle that is too large, nothing nested too deeply (G111).

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::{MAX_BUNDLE_BYTES, MAX_DEPTH, MAX_OBJECT_BYTES, Manifest};
use crate::kubernetes::object::object_ref;
use crate::text::finding::Finding;

/// Most bytes that the paths of all fields of all objects have together: each repeats the keys above it, so that a small object
/// with long keys above many fields could need much memory where its fields are listed.
const MAX_PATH_BYTES: usize = 64 << 20;

/// Objects over the limit, and a bundle over its limit. The parser limits the nesting.
pub(super) fn check(manifests: &[Manifest]) -> Vec<Finding> {
    let sizes: Vec<usize> = manifests.iter().map(|manifest| json_size(&manifest.object)).collect();
    let large = manifests.iter().zip(&sizes).filter_map(|(manifest, size)| {
        Some(large_object(&manifest.object, *size)?.with_location(Some(manifest.location.clone())))
    });
    let paths = long_paths(manifests.iter().map(|manifest| &manifest.object));
    large.chain(large_bundle(sizes.iter().sum())).chain(paths).collect()
}

/// The same limits and that on nesting, for objects that overrides and template values have changed.
pub(crate) fn check_rendered<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<Finding> {
    let objects: Vec<&Value> = objects.collect();
    let (mut findings, mut total) = (Vec::new(), 0);
    findings.extend(long_paths(objects.iter().copied()));
    for object in objects {
        let size = json_size(object);
        total += size;
        findings.extend(large_object(object, size));
        findings.extend(deep_object(object));
    }
    findings.extend(large_bundle(total));
    findings
}

fn large_bundle(total: usize) -> Option<Finding> {
    (total > MAX_BUNDLE_BYTES).then(|| {
        let message = format!(
            "All objects together have {}; at most {} are allowed.",
            format_mib(total),
            format_mib(MAX_BUNDLE_BYTES)
        );
        Finding::error("G111", message, "Split the workload into smaller ones.")
    })
}

/// The finding for paths over the limit; it names the object that has most of them.
pub(crate) fn long_paths<'a>(objects: impl Iterator<Item = &'a Value>) -> Option<Finding> {
    let counted: Vec<(usize, &Value)> = objects.map(|object| (count_path_bytes(object, 0), object)).collect();
    let total = counted.iter().fold(0_usize, |sum, (bytes, _)| sum.saturating_add(*bytes));
    let (_, object) = counted.into_iter().max_by_key(|(bytes, _)| *bytes)?;
    (total > MAX_PATH_BYTES).then(|| {
        let name = object_ref(object).to_string();
        let message = format!(
            "The paths of all fields together have {}; at most {} are allowed. {name} has most of them.",
            format_mib(total),
            format_mib(MAX_PATH_BYTES)
        );
        Finding::error("G111", message, "Use shorter keys, or fewer fields below long ones.")
            .with_object(name)
    })
}

/// The bytes of the paths of a value at a path of `length` bytes and of everything in it.
pub(crate) fn count_path_bytes(value: &Value, length: usize) -> usize {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| count_path_bytes(value, length.saturating_add(key.len() + 1)))
            .fold(length, usize::saturating_add),
        Value::Array(items) => items
            .iter()
            .map(|value| count_path_bytes(value, length.saturating_add(item_bytes(value))))
            .fold(length, usize::saturating_add),
        _ => length,
    }
}

/// The bytes of the longest path in a value.
pub(crate) fn longest_path(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + 1 + longest_path(value)).max().unwrap_or_default()
        }
        Value::Array(items) => {
            items.iter().map(|value| item_bytes(value) + longest_path(value)).max().unwrap_or_default()
        }
        _ => 0,
    }
}

/// What the item of a list adds to a path: its position, or its name in `[name=…]`.
fn item_bytes(item: &Value) -> usize {
    item["name"].as_str().map_or(2, |name| name.len() + 7)
}

fn large_object(object: &Value, size: usize) -> Option<Finding> {
    (size > MAX_OBJECT_BYTES).then(|| {
        let name = object_ref(object).to_string();
        let message =
            format!("{name} has {}; Kubernetes rejects objects over about 1 MiB.", format_mib(size));
        Finding::error("G111", message, "Move the content to a volume or an image.").with_object(name)
    })
}

fn deep_object(object: &Value) -> Option<Finding> {
    let depth = value_depth(object);
    (depth > MAX_DEPTH).then(|| {
        let name = object_ref(object).to_string();
        let message = format!("{name} nests values {depth} deep; at most {MAX_DEPTH} levels are allowed.");
        Finding::error("G111", message, "Write fewer levels in the source or in the override.")
            .with_object(name)
    })
}

/// The number of maps and lists around the innermost value.
pub(crate) fn value_depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(value_depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(value_depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// How many bytes a value has as JSON.
pub(crate) fn json_size<T: Serialize + ?Sized>(value: &T) -> usize {
    let mut count = ByteCounter(0);
    // Counting cannot fail, and plain data can always be serialized.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn format_mib(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one digit after the point")]
    let mib = bytes as f64 / f64::from(1 << 20);
    format!("{mib:.1} MiB")
}
