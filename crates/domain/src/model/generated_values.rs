//! Values that a chart generates: random passwords, certificates, dates.
//!
//! Two runs of a chart with the same inputs tell which fields it generates ([`find_generated_fields`]). Other inputs generate them
//! anew; an object that a cluster has already retains the values that it has there ([`retain_generated_values`]), as a chart does
//! that reads them with `lookup`: charts are rendered without access to a cluster.
//!
//! Annotations of pod templates follow the rendering, because they are there to restart the pods. One that holds a digest is retained while
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
use crate::kubernetes::field_path::{escape_pointer_token, unescape_token};
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

/// The generated values of one cluster, in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GeneratedValues(Vec<GeneratedValue>);

/// The value of a generated field on one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum GeneratedValue {
    /// The cluster has it, and retains it.
    Existing(Value),
    /// That of the rendering: the cluster has no such object or field, or the field follows the rendering.
    New,
    /// That of the rendering, although the cluster has another one: which part of it is generated can't be told.
    Replaced,
}

impl GeneratedValues {
    /// Sets the fields of the chart's output.
    pub fn apply(&self, generated: &GeneratedFields, parsed: &mut ParsedManifests) {
        let at: HashMap<ObjectRef, usize> =
            parsed.manifests.iter().enumerate().map(|(at, one)| (one.object_ref(), at)).collect();
        for (field, value) in generated.fields.iter().zip(&self.0) {
            let GeneratedValue::Existing(value) = value else { continue };
            let manifest = at.get(&field.object).and_then(|at| parsed.manifests.get_mut(*at));
            if let Some(target) = manifest.and_then(|one| one.object.pointer_mut(&field.path)) {
                *target = value.clone();
            }
        }
    }

    /// Whether all values are new, so that nothing is set and nothing is replaced.
    pub fn is_new(&self) -> bool {
        self.0.iter().all(|value| *value == GeneratedValue::New)
    }

    /// The fields whose values on the cluster are replaced.
    pub fn replaced<'f>(&self, generated: &'f GeneratedFields) -> Vec<&'f GeneratedField> {
        let fields = generated.fields.iter().zip(&self.0);
        fields.filter(|(_, value)| **value == GeneratedValue::Replaced).map(|(field, _)| field).collect()
    }
}

/// The generated values of a cluster with this bundle. `namespace` is that of the workload, which objects without one get.
pub fn retain_generated_values(
    generated: &GeneratedFields,
    rendered: &ParsedManifests,
    namespace: &str,
    bundle: &Bundle,
) -> GeneratedValues {
    let existing = ExistingObjects::new(bundle, namespace);
    let objects: HashMap<ObjectRef, &Value> =
        rendered.manifests.iter().map(|one| (one.object_ref(), &one.object)).collect();
    let rendered_value = |field: &GeneratedField| objects.get(&field.object)?.pointer(&field.path);
    let mut values: Vec<GeneratedValue> = Vec::with_capacity(generated.fields.len());
    // A certificate authority that a new webhook needs is the one that an existing Secret has.
    let mut replacements: HashMap<&Value, Value> = HashMap::new();
    for field in &generated.fields {
        let value = match objects.get(&field.object) {
            Some(object) if !is_pod_annotation(&field.path) => existing.retain(field, object),
            _ => GeneratedValue::New,
        };
        if let (GeneratedValue::Existing(value), Some(rendered)) = (&value, rendered_value(field)) {
            replacements.entry(rendered).or_insert_with(|| value.clone());
        }
        values.push(value);
    }
    for (field, value) in generated.fields.iter().zip(&mut values) {
        if let (GeneratedValue::New, Some(rendered)) = (&*value, rendered_value(field))
            && let Some(known) = replacements.get(rendered)
        {
            *value = GeneratedValue::Existing(known.clone());
        }
    }
    let mut values = GeneratedValues(values);
    let mut settled = rendered.clone();
    values.apply(generated, &mut settled);
    if existing.has_equal_configuration(&settled) {
        for (field, value) in generated.fields.iter().zip(&mut values.0) {
            let current = existing.get(&field.object).and_then(|object| object.pointer(&field.path));
            if let Some(current) = current.filter(|value| is_pod_annotation(&field.path) && is_digest(value))
            {
                *value = GeneratedValue::Existing(current.clone());
            }
        }
    }
    values
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
    fn find(&self, field: &GeneratedField, rendered: &Value) -> (CurrentValue<'a>, bool) {
        let Some(object) = self.get(&field.object) else { return (CurrentValue::Missing, false) };
        let is_encoded = is_encoded(&field.object, &field.path);
        let found = find_current(rendered, object, &field.path);
        if let (CurrentValue::Missing, Some(key)) = (&found, secret_key(&field.object, &field.path)) {
            let other = if is_encoded { "stringData" } else { "data" };
            let moved = object.pointer(&format!("/{other}/{key}"));
            return (moved.map_or(CurrentValue::Missing, CurrentValue::Found), !is_encoded);
        }
        (found, is_encoded)
    }

    /// The value of a field of this rendered object.
    fn retain(&self, field: &GeneratedField, object: &Value) -> GeneratedValue {
        let Some(rendered) = object.pointer(&field.path) else { return GeneratedValue::New };
        let (current, is_current_encoded) = match self.find(field, object) {
            (CurrentValue::Found(current), is_encoded) => (current, is_encoded),
            (CurrentValue::Missing, _) => return GeneratedValue::New,
            (CurrentValue::Ambiguous, _) => return GeneratedValue::Replaced,
        };
        // Nothing tells which part of a list or map is generated: the other parts have to follow the rendering.
        if is_container(rendered) || is_container(current) {
            return if current == rendered { GeneratedValue::New } else { GeneratedValue::Replaced };
        }
        let is_encoded = is_encoded(&field.object, &field.path);
        let texts = decode_text(current, is_current_encoded).zip(decode_text(rendered, is_encoded));
        let Some((current_text, rendered_text)) = texts.filter(|_| !field.ranges.is_empty()) else {
            return match is_encoded == is_current_encoded {
                true => GeneratedValue::Existing(current.clone()),
                false => GeneratedValue::Replaced,
            };
        };
        let values = extract_values(&rendered_text, &field.ranges, &current_text);
        match values.and_then(|values| insert_values(&rendered_text, &field.ranges, &values)) {
            Some(text) if is_encoded => GeneratedValue::Existing(STANDARD.encode(text).into()),
            Some(text) => GeneratedValue::Existing(text.into()),
            None => GeneratedValue::Replaced,
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

/// What a cluster has at the path of a generated field.
enum CurrentValue<'a> {
    Found(&'a Value),
    Missing,
    /// The path leads through a list whose items can't be told apart.
    Ambiguous,
}

/// The value of `current` at the path of a value of `rendered`. An item of a list is found by its name: its position may change
/// with a revision. One without a name is found by its position if nothing else in the list differs.
fn find_current<'a>(rendered: &Value, current: &'a Value, path: &str) -> CurrentValue<'a> {
    let (mut rendered, mut current) = (rendered, current);
    for token in path.split('/').skip(1) {
        let Ok(token) = unescape_token(token) else { return CurrentValue::Missing };
        let next = match (rendered, current) {
            (Value::Object(one), Value::Object(other)) => one.get(&token).zip(other.get(&token)),
            (Value::Array(items), Value::Array(others)) => {
                let at: Option<usize> = token.parse().ok();
                let Some((at, item)) = at.and_then(|at| Some((at, items.get(at)?))) else {
                    return CurrentValue::Missing;
                };
                match item.get("name").filter(|name| name.is_string()) {
                    Some(name) => {
                        others.iter().find(|other| other.get("name") == Some(name)).map(|other| (item, other))
                    }
                    None => {
                        let is_same = |(other, (one, current)): (usize, (&Value, &Value))| {
                            other == at || one == current
                        };
                        let is_unambiguous =
                            items.len() == others.len() && items.iter().zip(others).enumerate().all(is_same);
                        if !is_unambiguous {
                            return CurrentValue::Ambiguous;
                        }
                        others.get(at).map(|other| (item, other))
                    }
                }
            }
            _ => None,
        };
        match next {
            Some(next) => (rendered, current) = next,
            None => return CurrentValue::Missing,
        }
    }
    CurrentValue::Found(current)
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
