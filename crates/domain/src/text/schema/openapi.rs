//! The kinds of a cluster from the documents of its API server under `/openapi/v3`, one for each group and version.
//!
//! Not every field that they mark as required is: Go types have no absent text or number, and the server sets some
//! defaults. Only fields whose absence the server rejects become required; a test verifies that against a real server.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::definition::root_type;
use super::memory::{MAX_MEMORY_BYTES, count_values, estimate_memory};
use super::without_descriptions::{WithoutDescriptions, count_parsed};
use super::{InvalidSchema, KindKey, ListType, MAX_BYTES, ObjectField, ObjectType, Schema, ValueType};

/// Fields that are marked as required but optional: the server sets a default, or accepts an empty value.
const OPTIONAL_FIELDS: [(&str, &str); 9] = [
    ("v1.HTTPHeader", "value"),
    ("v1.Sysctl", "value"),
    ("v1.TokenRequest", "audience"),
    ("v1.LimitRangeSpec", "limits"),
    ("v1.CSINodeSpec", "drivers"),
    ("v1.PodFailurePolicy", "rules"),
    ("v1.CustomResourceConversion", "strategy"),
    ("v1.Event", "metadata"),
    ("v1.Event", "involvedObject"),
];

/// Required integers: the server rejects 0, the value of an absent one.
const REQUIRED_INTEGERS: [(&str, &str); 11] = [
    ("v1.ContainerPort", "containerPort"),
    ("v1.EndpointPort", "port"),
    ("v1.GRPCAction", "port"),
    ("v1.ServicePort", "port"),
    ("v1.HorizontalPodAutoscalerSpec", "maxReplicas"),
    ("v2.HorizontalPodAutoscalerSpec", "maxReplicas"),
    ("v1.PreferredSchedulingTerm", "weight"),
    ("v1.WeightedPodAffinityTerm", "weight"),
    ("v1.TopologySpreadConstraint", "maxSkew"),
    ("v1.APIServiceSpec", "groupPriorityMinimum"),
    ("v1.APIServiceSpec", "versionPriority"),
];

/// Required objects all of whose fields are optional.
const REQUIRED_OBJECTS: [&str; 2] = ["selector", "clientConfig"];

const REFERENCE_PREFIX: &str = "#/components/schemas/";

/// Name prefixes of the Go types of Kubernetes' own kinds. All other definitions are structural schemas, as in
/// CustomResourceDefinitions.
const BUILT_IN_PREFIXES: [&str; 3] =
    ["io.k8s.api.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator."];

/// The most values in one document; the largest of Kubernetes itself has about a tenth. A value needs up to 450 bytes.
const MAX_DOCUMENT_VALUES: u64 = 500_000;
/// The most values that are retained of all documents together: those of several hundred large custom kinds.
const MAX_RETAINED_VALUES: u64 = 1_000_000;
/// The most types that are built of definitions: those without fields of their own are built wherever others refer to them.
const MAX_TYPES: u64 = 250_000;
/// The most types around one, definitions that refer to each other included; what is deeper is not checked.
const MAX_DEPTH: u32 = 100;
/// The values of the name of a kind.
const KIND_VALUES: u64 = 4;

/// The definition of `metadata`, common to all kinds.
const METADATA_DEFINITION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The merged definitions of the documents of one API server. The documents repeat definitions and are mostly
/// descriptions, so each is parsed and dropped before the next.
#[derive(Debug, Default)]
pub struct OpenApiDocuments {
    definitions: BTreeMap<String, Value>,
    /// The kinds whose named objects can be patched.
    patchable: BTreeSet<KindKey>,
    /// The values in both.
    values: u64,
}

/// The parsed part of one document.
#[derive(serde::Deserialize)]
struct OpenApiDocument {
    #[serde(default)]
    paths: BTreeMap<String, PathItem>,
    #[serde(default)]
    components: OpenApiComponents,
}

#[derive(serde::Deserialize)]
struct PathItem {
    patch: Option<PatchOperation>,
}

#[derive(serde::Deserialize)]
struct PatchOperation {
    #[serde(default, rename = "x-kubernetes-group-version-kind")]
    kind: Value,
}

#[derive(Default, serde::Deserialize)]
struct OpenApiComponents {
    #[serde(default)]
    schemas: BTreeMap<String, WithoutDescriptions>,
}

impl OpenApiDocuments {
    /// Adds the document of one group and version.
    ///
    /// # Errors
    /// It is not an OpenAPI document, or has too many values, alone or with the others: nothing is added.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), InvalidSchema> {
        let values = count_values(bytes);
        if values > MAX_DOCUMENT_VALUES {
            return Err(InvalidSchema::new(format!(
                "it has {values} values, and at most {MAX_DOCUMENT_VALUES} are read"
            )));
        }
        let document: OpenApiDocument =
            serde_json::from_slice(bytes).map_err(InvalidSchema::from_json_error)?;
        let named = document.paths.into_iter().filter(|(path, _)| path.ends_with("/{name}"));
        let mut patchable: BTreeSet<KindKey> =
            named.filter_map(|(_, methods)| parse_kind(&methods.patch?.kind)).collect();
        patchable.retain(|kind| !self.patchable.contains(kind));
        let mut added = KIND_VALUES * patchable.len() as u64;
        for (name, WithoutDescriptions(definition)) in &document.components.schemas {
            if !self.definitions.contains_key(name) {
                added += count_parsed(definition);
            }
        }
        if self.values + added > MAX_RETAINED_VALUES {
            return Err(InvalidSchema::new(format!(
                "with the other documents it has more than {MAX_RETAINED_VALUES} values"
            )));
        }
        self.values += added;
        self.patchable.extend(patchable);
        for (name, WithoutDescriptions(definition)) in document.components.schemas {
            self.definitions.entry(name).or_insert(definition);
        }
        Ok(())
    }
}

impl Schema {
    /// The schema of an API server of this minor version, from its documents. It contains the kinds whose named objects can
    /// be patched. `status` is written by the cluster and not checked.
    pub fn from_openapi(minor: u32, documents: &OpenApiDocuments) -> Self {
        let mut builder = SchemaBuilder {
            definitions: &documents.definitions,
            indexes: BTreeMap::new(),
            shared: Vec::new(),
            types: 0,
            depth: 0,
        };
        let metadata = if builder.definitions.contains_key(METADATA_DEFINITION) {
            builder.shared_type(METADATA_DEFINITION)
        } else {
            ValueType::Any
        };
        let mut kinds = BTreeMap::new();
        for (name, definition) in builder.definitions {
            let names = definition["x-kubernetes-group-version-kind"].as_array();
            for kind in names.into_iter().flatten().filter_map(parse_kind) {
                if !documents.patchable.contains(&kind) {
                    continue;
                }
                if BUILT_IN_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                    kinds.insert(kind, builder.shared_type(name));
                } else if has_fields(definition) {
                    kinds.insert(kind, root_type(definition, &metadata));
                }
            }
        }
        let mut schema = Self { minor, kinds, shared: builder.shared };
        schema.clear_status();
        schema.require_specs();
        schema.drop_empty_requirements();
        schema.drop_unused();
        schema
    }

    /// The JSON form, at most [`MAX_BYTES`] long and with at most [`MAX_MEMORY_BYTES`] so that it can be parsed again: if a cluster has
    /// too many custom kinds, the largest are omitted and not checked.
    pub fn to_bounded_json(&self) -> String {
        let fits =
            |text: &str| text.len() <= MAX_BYTES && estimate_memory(text.as_bytes()) <= MAX_MEMORY_BYTES;
        let text = self.to_json();
        if fits(&text) {
            return text;
        }
        let length = |of: &ValueType| serde_json::to_string(of).map_or(0, |text| text.len());
        let mut kinds: Vec<(usize, &KindKey)> =
            self.kinds.iter().map(|(kind, of)| (length(of), kind)).collect();
        kinds.sort_unstable_by(|one, other| other.cmp(one));
        // So many are too few, and so many are enough: without kinds it always fits.
        let (mut few, mut enough) = (0, kinds.len());
        while enough - few > 1 {
            let middle = usize::midpoint(few, enough);
            let is_enough = fits(&self.without_kinds(&kinds[..middle]).to_json());
            (few, enough) = if is_enough { (few, middle) } else { (middle, enough) };
        }
        self.without_kinds(&kinds[..enough]).to_json()
    }

    fn without_kinds(&self, omitted: &[(usize, &KindKey)]) -> Self {
        let mut left = self.clone();
        for (_, kind) in omitted {
            left.kinds.remove(*kind);
        }
        left.drop_unused();
        left
    }

    fn clear_status(&mut self) {
        for of in self.kinds.values() {
            let ValueType::Shared(at) = of else { continue };
            if let Some(ValueType::Object(object)) = self.shared.get_mut(*at)
                && let Some(status) = object.fields.get_mut("status")
            {
                *status = ObjectField { value_type: ValueType::Any, required: false };
            }
        }
    }

    /// The server treats an absent object as an empty one; so a `spec` with a required field is required itself.
    fn require_specs(&mut self) {
        loop {
            let has_required: Vec<bool> = self.shared.iter().map(has_required_field).collect();
            let objects = self.shared.iter_mut().filter_map(|of| match of {
                ValueType::Object(object) => object.fields.get_mut("spec"),
                _ => None,
            });
            let is_open = |field: &&mut ObjectField| {
                !field.required && matches!(field.value_type, ValueType::Shared(at) if has_required[at])
            };
            let mut specs: Vec<&mut ObjectField> = objects.filter(is_open).collect();
            specs.iter_mut().for_each(|field| field.required = true);
            if specs.is_empty() {
                return;
            }
        }
    }

    /// An object without required fields is not required itself: the server treats an absent one as empty.
    fn drop_empty_requirements(&mut self) {
        loop {
            let has_required: Vec<bool> = self.shared.iter().map(has_required_field).collect();
            let mut changed = false;
            for of in &mut self.shared {
                let ValueType::Object(object) = of else { continue };
                for (name, field) in &mut object.fields {
                    if let ValueType::Shared(at) = field.value_type
                        && field.required
                        && !has_required[at]
                        && !REQUIRED_OBJECTS.contains(&name.as_str())
                    {
                        (field.required, changed) = (false, true);
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Retains the shared types that a kind refers to, in order of first reference.
    fn drop_unused(&mut self) {
        let (mut order, mut new) = (Vec::new(), BTreeMap::new());
        let mut open: Vec<usize> = Vec::new();
        for of in self.kinds.values() {
            collect_references(of, &mut open);
            while let Some(at) = open.pop() {
                if let Entry::Vacant(entry) = new.entry(at) {
                    entry.insert(order.len());
                    order.push(at);
                    collect_references(&self.shared[at], &mut open);
                }
            }
        }
        let mut used: Vec<ValueType> = order.iter().map(|at| self.shared[*at].clone()).collect();
        for of in used.iter_mut().chain(self.kinds.values_mut()) {
            renumber(of, &new);
        }
        self.shared = used;
    }
}

/// Whether a type has a required field; true for types other than objects.
fn has_required_field(of: &ValueType) -> bool {
    match of {
        ValueType::Object(object) => object.fields.values().any(|field| field.required),
        _ => true,
    }
}

fn collect_references(of: &ValueType, into: &mut Vec<usize>) {
    match of {
        ValueType::Shared(at) => into.push(*at),
        ValueType::List(list) => collect_references(&list.item, into),
        ValueType::Map(of) => collect_references(of, into),
        ValueType::Object(object) => {
            object.fields.values().rev().for_each(|field| collect_references(&field.value_type, into))
        }
        _ => {}
    }
}

fn renumber(of: &mut ValueType, new: &BTreeMap<usize, usize>) {
    match of {
        ValueType::Shared(at) => *at = new[at],
        ValueType::List(list) => renumber(&mut list.item, new),
        ValueType::Map(of) => renumber(of, new),
        ValueType::Object(object) => {
            object.fields.values_mut().for_each(|field| renumber(&mut field.value_type, new))
        }
        _ => {}
    }
}

/// Whether a custom kind has fields beyond those of every object. A kind without a schema has none.
fn has_fields(definition: &Value) -> bool {
    let all = definition["properties"].as_object();
    all.is_some_and(|all| all.keys().any(|name| !matches!(&**name, "apiVersion" | "kind" | "metadata")))
}

fn parse_kind(value: &Value) -> Option<KindKey> {
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    Some((text("group")?, text("version")?, text("kind")?))
}

struct SchemaBuilder<'a> {
    definitions: &'a BTreeMap<String, Value>,
    indexes: BTreeMap<&'a str, usize>,
    shared: Vec<ValueType>,
    /// How many types were built.
    types: u64,
    /// How many types are being built.
    depth: u32,
}

impl<'a> SchemaBuilder<'a> {
    /// The type of a definition: types with fields are shared, others are inlined.
    fn shared_type(&mut self, name: &'a str) -> ValueType {
        if let Some(at) = self.indexes.get(name) {
            return ValueType::Shared(*at);
        }
        let definition = self.definitions.get(name).unwrap_or(&Value::Null);
        if definition["properties"].is_null() {
            return self.build_type("", definition);
        }
        let at = self.shared.len();
        self.indexes.insert(name, at);
        self.shared.push(ValueType::Any);
        self.shared[at] = self.build_type(&short_name(name), definition);
        ValueType::Shared(at)
    }

    /// The type of a schema; `owner` is the short name of the enclosing definition. One that nothing is known of if there are too many types,
    /// or too many around it: definitions may refer to themselves.
    fn build_type(&mut self, owner: &str, schema: &'a Value) -> ValueType {
        if self.types >= MAX_TYPES || self.depth >= MAX_DEPTH {
            return ValueType::Any;
        }
        (self.types, self.depth) = (self.types + 1, self.depth + 1);
        let built = self.build_known_type(owner, schema);
        self.depth -= 1;
        built
    }

    fn build_known_type(&mut self, owner: &str, schema: &'a Value) -> ValueType {
        let reference = [&schema["$ref"], &schema["allOf"][0]["$ref"]].into_iter().find_map(Value::as_str);
        if let Some(name) = reference.and_then(|reference| reference.strip_prefix(REFERENCE_PREFIX)) {
            return self.shared_type(name);
        }
        if schema["format"] == "int-or-string" || schema["x-kubernetes-int-or-string"] == true {
            return ValueType::IntegerOrText;
        }
        match schema["type"].as_str() {
            Some("string") => text_type(schema),
            Some("boolean") => ValueType::Boolean,
            Some("integer") if schema["format"] == "int32" => ValueType::Int32,
            Some("integer") => ValueType::Integer,
            Some("number") => ValueType::Number,
            Some("array") => self.list_type(owner, schema),
            Some("object") if schema["properties"].is_object() => self.object_type(owner, schema),
            Some("object") if schema["additionalProperties"].is_object() => {
                ValueType::Map(Box::new(self.build_type(owner, &schema["additionalProperties"])))
            }
            _ if is_quantity(schema) => ValueType::Quantity,
            _ => ValueType::Any,
        }
    }

    fn list_type(&mut self, owner: &str, schema: &'a Value) -> ValueType {
        let item = self.build_type(owner, &schema["items"]);
        let fields = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
        let names = fields.filter(|_| schema["x-kubernetes-list-type"] == "map").filter_map(Value::as_str);
        let keys = names.map(|name| (name.to_owned(), self.default_of(&schema["items"], name))).collect();
        ValueType::List(Box::new(ListType { item, keys }))
    }

    /// The default of a field of a list's items.
    fn default_of(&self, items: &'a Value, field: &str) -> Option<String> {
        let name = [&items["$ref"], &items["allOf"][0]["$ref"]].into_iter().find_map(Value::as_str)?;
        let definition = self.definitions.get(name.strip_prefix(REFERENCE_PREFIX)?)?;
        let default = definition["properties"][field]["default"].as_str()?;
        (!default.is_empty()).then(|| default.to_owned())
    }

    fn object_type(&mut self, owner: &str, schema: &'a Value) -> ValueType {
        let mut object = ObjectType::default();
        let required = schema["required"].as_array();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_listed = required.is_some_and(|names| names.iter().any(|other| other == name));
            let of = self.build_type(owner, property);
            let required = is_listed && is_required((owner, name), &of);
            object.fields.insert(name.clone(), ObjectField { value_type: of, required });
        }
        ValueType::Object(object)
    }
}

fn text_type(schema: &Value) -> ValueType {
    if schema["format"] == "byte" {
        return ValueType::Base64;
    }
    let words = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if words.is_empty() { ValueType::Text } else { ValueType::Enum(words) }
}

fn is_quantity(schema: &Value) -> bool {
    schema["oneOf"].as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "number"))
}

/// Whether the server rejects the absence of a field that its schema marks as required.
fn is_required(field: (&str, &str), of: &ValueType) -> bool {
    match of {
        ValueType::Boolean | ValueType::Number | ValueType::Quantity | ValueType::Any => false,
        ValueType::Int32 | ValueType::Integer => REQUIRED_INTEGERS.contains(&field),
        _ => !OPTIONAL_FIELDS.contains(&field),
    }
}

/// `v1.Container` of `io.k8s.api.core.v1.Container`.
fn short_name(name: &str) -> String {
    let mut parts = name.rsplit('.');
    let (kind, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{version}.{kind}")
}
