//! Values that a chart generates: random passwords, certificates, dates.
//!
//! Two runs of a chart with the same inputs tell which fields it generates ([`find_generated_fields`]). Other inputs generate them
//! anew; an object that a cluster has already keeps the values that it has there ([`keep_generated_values`]), as a chart does
//! that reads them with `lookup`: charts are rendered without access to a cluster.
//!
//! Annotations of pod templates are not kept, because they are there to restart the pods. One that holds a digest is kept while
//! no ConfigMap and no Secret changes.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::generated_text::{TextRange, extract_values, find_ranges, insert_values};
use super::bundle::Bundle;
use super::chart_hook::is_test_hook;
use crate::kubernetes::field_path::escape_pointer_token;
use crate::kubernetes::object::{ObjectRef, object_ref};
use crate::text::manifest::{Manifest, ParsedManifests};

mod generated_text;
#[cfg(test)]
mod tests;

/// A field of a chart's output that two runs with the same inputs fill differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedField {
    /// The object, as the chart writes it: its namespace may be empty.
    pub object: ObjectRef,
    /// JSON pointer of the field.
    pub path: String,
    /// The generated parts of its text; empty if it holds no text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<TextRange>,
}

/// What two runs of a chart with the same inputs fill differently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GeneratedFields {
    /// The fields of objects that both runs have.
    pub fields: Vec<GeneratedField>,
    /// The objects that only the first run has: their names are generated.
    pub objects: Vec<ObjectRef>,
}

impl GeneratedFields {
    /// Whether both runs are the same.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.objects.is_empty()
    }
}

/// Compares two runs of a chart with the same inputs. Hooks for tests do not count: they are never applied.
pub fn find_generated_fields(first: &ParsedManifests, second: &ParsedManifests) -> GeneratedFields {
    let again: HashMap<ObjectRef, &Value> =
        second.manifests.iter().map(|one| (one.object_ref(), &one.object)).collect();
    let mut found = GeneratedFields::default();
    for manifest in first.manifests.iter().filter(|one| !is_test_hook(&one.object)) {
        let object = manifest.object_ref();
        match again.get(&object) {
            Some(other) => {
                let mut comparison = Comparison { object: &object, found: &mut found.fields };
                comparison.compare(&manifest.object, other, &mut String::new());
            }
            None => found.objects.push(object),
        }
    }
    found
}

struct Comparison<'a> {
    object: &'a ObjectRef,
    found: &'a mut Vec<GeneratedField>,
}

impl Comparison<'_> {
    fn compare(&mut self, first: &Value, second: &Value, path: &mut String) {
        let mut descend = |segment: &str, first: &Value, second: &Value| {
            let parent = path.len();
            path.push('/');
            path.push_str(&escape_pointer_token(segment));
            self.compare(first, second, path);
            path.truncate(parent);
        };
        match (first, second) {
            (Value::Object(first), Value::Object(second)) => {
                for (key, value) in first {
                    descend(key, value, second.get(key).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(first), Value::Array(second)) if first.len() == second.len() => {
                for (at, (first, second)) in first.iter().zip(second).enumerate() {
                    descend(&at.to_string(), first, second);
                }
            }
            (first, second) if first == second => {}
            (first, second) => {
                let is_encoded = is_encoded(self.object, path);
                let texts = decode_text(first, is_encoded).zip(decode_text(second, is_encoded));
                let ranges = texts.map(|(first, second)| find_ranges(&first, &second));
                self.found.push(GeneratedField {
                    object: self.object.clone(),
                    path: path.clone(),
                    ranges: ranges.unwrap_or_default(),
                });
            }
        }
    }
}

/// The generated values that a cluster has, in the order of the fields: what the field is set to, or why it is not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeptValues(Vec<KeptValue>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum KeptValue {
    /// The field keeps this value.
    Kept(Value),
    /// The cluster has no such object or field, or it follows the rendering.
    New,
    /// The cluster has the field with other text around its generated parts.
    Lost,
}

impl KeptValues {
    /// Sets the fields of the chart's output.
    pub fn apply(&self, generated: &GeneratedFields, parsed: &mut ParsedManifests) {
        let at: HashMap<ObjectRef, usize> =
            parsed.manifests.iter().enumerate().map(|(at, one)| (one.object_ref(), at)).collect();
        for (field, kept) in generated.fields.iter().zip(&self.0) {
            let KeptValue::Kept(value) = kept else { continue };
            let manifest = at.get(&field.object).and_then(|at| parsed.manifests.get_mut(*at));
            if let Some(target) = manifest.and_then(|one| one.object.pointer_mut(&field.path)) {
                *target = value.clone();
            }
        }
    }

    /// Whether every field is as the chart generated it, and none replaces a value of the cluster.
    pub fn is_fresh(&self) -> bool {
        self.0.iter().all(|value| *value == KeptValue::New)
    }

    /// The fields that the cluster has and that get new values, because the text around their generated parts changed.
    pub fn lost<'f>(&self, generated: &'f GeneratedFields) -> impl Iterator<Item = &'f GeneratedField> {
        let lost = generated.fields.iter().zip(&self.0).filter(|(_, kept)| **kept == KeptValue::Lost);
        lost.map(|(field, _)| field).collect::<Vec<_>>().into_iter()
    }
}

/// The values that a cluster with this bundle keeps. `namespace` is that of the workload, which objects without one get.
pub fn keep_generated_values(
    generated: &GeneratedFields,
    fresh: &ParsedManifests,
    namespace: &str,
    bundle: &Bundle,
) -> KeptValues {
    let existing = ExistingObjects::new(bundle, namespace);
    let rendered: HashMap<ObjectRef, &Manifest> =
        fresh.manifests.iter().map(|one| (one.object_ref(), one)).collect();
    let fresh_value = |field: &GeneratedField| rendered.get(&field.object)?.object.pointer(&field.path);
    // A certificate authority that a new webhook needs is the one that an existing Secret has.
    let mut replaced: HashMap<&Value, Value> = HashMap::new();
    let mut kept: Vec<KeptValue> = Vec::with_capacity(generated.fields.len());
    for field in &generated.fields {
        let value = match fresh_value(field) {
            Some(_) if is_pod_annotation(&field.path) => KeptValue::New,
            Some(value) => existing.keep(field, value),
            None => KeptValue::New,
        };
        if let (KeptValue::Kept(value), Some(fresh)) = (&value, fresh_value(field)) {
            replaced.entry(fresh).or_insert_with(|| value.clone());
        }
        kept.push(value);
    }
    for (field, value) in generated.fields.iter().zip(&mut kept) {
        if let (KeptValue::New, Some(fresh)) = (&*value, fresh_value(field))
            && let Some(known) = replaced.get(fresh)
        {
            *value = KeptValue::Kept(known.clone());
        }
    }
    let mut kept = KeptValues(kept);
    let mut settled = fresh.clone();
    kept.apply(generated, &mut settled);
    if existing.has_equal_configuration(&settled) {
        for (field, value) in generated.fields.iter().zip(&mut kept.0) {
            let current = existing.get(&field.object).and_then(|object| object.pointer(&field.path));
            if let Some(current) = current.filter(|value| is_pod_annotation(&field.path) && is_digest(value))
            {
                *value = KeptValue::Kept(current.clone());
            }
        }
    }
    kept
}

/// The objects and hooks of a cluster's bundle.
struct ExistingObjects<'a> {
    objects: HashMap<ObjectRef, &'a Value>,
    namespace: &'a str,
}

impl<'a> ExistingObjects<'a> {
    fn new(bundle: &'a Bundle, namespace: &'a str) -> Self {
        let all = bundle.objects.iter().chain(&bundle.hooks);
        Self { objects: all.map(|object| (any_version(object_ref(object)), object)).collect(), namespace }
    }

    /// The object that the chart writes as `object`, whose namespace may be empty.
    fn get(&self, object: &ObjectRef) -> Option<&'a Value> {
        let object = any_version(object.clone());
        let found = self.objects.get(&object);
        let in_namespace = || self.objects.get(&ObjectRef { namespace: self.namespace.to_owned(), ..object });
        found.copied().or_else(|| in_namespace().copied())
    }

    /// The value of a field on the cluster, and whether it is base64. A chart may write a value of a Secret in `data` or in
    /// `stringData`.
    fn value(&self, field: &GeneratedField) -> Option<(&'a Value, bool)> {
        let object = self.get(&field.object)?;
        let is_encoded = is_encoded(&field.object, &field.path);
        let other = || {
            let key = secret_key(&field.object, &field.path)?;
            let (name, is_encoded) = if is_encoded { ("stringData", false) } else { ("data", true) };
            Some((object.pointer(&format!("/{name}/{key}"))?, is_encoded))
        };
        object.pointer(&field.path).map(|value| (value, is_encoded)).or_else(other)
    }

    fn keep(&self, field: &GeneratedField, fresh: &Value) -> KeptValue {
        let Some((current, is_current_encoded)) = self.value(field) else { return KeptValue::New };
        // Nothing tells which part of a list or map is generated: the other parts have to follow the rendering.
        if is_container(fresh) || is_container(current) {
            return if current == fresh { KeptValue::New } else { KeptValue::Lost };
        }
        let is_encoded = is_encoded(&field.object, &field.path);
        let texts = decode_text(current, is_current_encoded).zip(decode_text(fresh, is_encoded));
        let Some((current_text, fresh_text)) = texts.filter(|_| !field.ranges.is_empty()) else {
            return if is_encoded == is_current_encoded {
                KeptValue::Kept(current.clone())
            } else {
                KeptValue::Lost
            };
        };
        let values = extract_values(&fresh_text, &field.ranges, &current_text);
        match values.and_then(|values| insert_values(&fresh_text, &field.ranges, &values)) {
            Some(text) if is_encoded => KeptValue::Kept(STANDARD.encode(text).into()),
            Some(text) => KeptValue::Kept(text.into()),
            None => KeptValue::Lost,
        }
    }

    /// Whether every ConfigMap and Secret of the chart's output is on the cluster as it is.
    fn has_equal_configuration(&self, rendered: &ParsedManifests) -> bool {
        let is_configuration = |kind: &str| matches!(kind, "ConfigMap" | "Secret");
        let same = |one: &Manifest| {
            let fields = ["data", "binaryData", "stringData", "immutable"];
            self.get(&one.object_ref())
                .is_some_and(|current| fields.iter().all(|field| current.get(field) == one.object.get(field)))
        };
        let mut all = rendered.manifests.iter().filter(|one| {
            let object = one.object_ref();
            object.group.is_empty() && is_configuration(&object.kind)
        });
        all.all(same)
    }
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// The key of a value of a Secret, as a token of a JSON pointer; `None` for other fields.
fn secret_key<'p>(object: &ObjectRef, path: &'p str) -> Option<&'p str> {
    let key = path.strip_prefix("/data/").or_else(|| path.strip_prefix("/stringData/"));
    key.filter(|_| object.is_kind("", "Secret"))
}

/// Whether a field holds base64.
fn is_encoded(object: &ObjectRef, path: &str) -> bool {
    secret_key(object, path).is_some() && path.starts_with("/data/")
}

/// The text of a value; `None` if it is none, or the bytes of its base64 are none.
fn decode_text(value: &Value, is_encoded: bool) -> Option<Cow<'_, str>> {
    let text = value.as_str()?;
    if !is_encoded {
        return Some(Cow::Borrowed(text));
    }
    let bytes = STANDARD.decode(text.trim()).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// A reference without its API version, which may change between two revisions.
fn any_version(object: ObjectRef) -> ObjectRef {
    ObjectRef { version: String::new(), ..object }
}

fn is_pod_annotation(path: &str) -> bool {
    path.contains("/template/metadata/annotations/")
}

/// Whether a value is a digest in hexadecimal form, as `sha256sum` writes it.
fn is_digest(value: &Value) -> bool {
    let is_hexadecimal = |text: &str| text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    value.as_str().is_some_and(is_hexadecimal)
}
