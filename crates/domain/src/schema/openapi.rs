//! The kinds of a cluster from what its API server says of itself: the documents of `/openapi/v3`, one for each group and
//! version.
//!
//! What they call required of Kubernetes' own kinds is not always: an object in Go has no "not there" for text and numbers, and the server fills
//! some in. Only what the server's own checks ask for is taken over; a test holds that against a real one.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::definition::root;
use super::{BadSchema, Field, KindName, List, MAX_BYTES, Object, Schema, Type};

/// Fields that are called required and may be left out: the server fills them in, or takes nothing for an answer.
const OPTIONAL_AFTER_ALL: [(&str, &str); 9] = [
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

/// Whole numbers that may not be left out, because the server refuses 0.
const NOT_ZERO: [(&str, &str); 11] = [
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

/// Fields whose parts are all optional, and that the server asks for nevertheless.
const NOT_EMPTY: [&str; 2] = ["selector", "clientConfig"];

const PREFIX: &str = "#/components/schemas/";

/// Where the types in Go are that Kubernetes' own kinds are made from. What is described elsewhere follows the rules of
/// structural schemas, as CustomResourceDefinitions have them.
const OWN: [&str; 3] = ["io.k8s.api.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator."];

/// What every kind's `metadata` is.
const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What the documents of one API server say together. They repeat each other and are mostly words for people, so each is
/// read and let go before the next comes.
#[derive(Debug, Default)]
pub struct Documents {
    definitions: BTreeMap<String, Value>,
    /// The kinds that have a patch of a named object.
    kept: BTreeSet<KindName>,
}

/// What is read of one document.
#[derive(serde::Deserialize)]
struct Document {
    #[serde(default)]
    paths: BTreeMap<String, Methods>,
    #[serde(default)]
    components: Components,
}

#[derive(serde::Deserialize)]
struct Methods {
    patch: Option<Operation>,
}

#[derive(serde::Deserialize)]
struct Operation {
    #[serde(default, rename = "x-kubernetes-group-version-kind")]
    kind: Value,
}

#[derive(Default, serde::Deserialize)]
struct Components {
    #[serde(default)]
    schemas: BTreeMap<String, Lean>,
}

impl Documents {
    /// Takes the document of one group and version.
    ///
    /// # Errors
    /// It is no such document.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), BadSchema> {
        let document: Document = serde_json::from_slice(bytes).map_err(BadSchema::of)?;
        let named = document.paths.into_iter().filter(|(path, _)| path.ends_with("/{name}"));
        self.kept.extend(named.filter_map(|(_, methods)| kind(&methods.patch?.kind)));
        for (name, Lean(definition)) in document.components.schemas {
            self.definitions.entry(name).or_insert(definition);
        }
        Ok(())
    }
}

impl Schema {
    /// From the documents of one API server of this minor version. Kinds are those that can be kept: patched under a
    /// name. What a cluster writes into `status` is left out.
    pub fn from_openapi(minor: u32, documents: &Documents) -> Self {
        let mut builder =
            Builder { definitions: &documents.definitions, places: BTreeMap::new(), shared: Vec::new() };
        let metadata =
            if builder.definitions.contains_key(METADATA) { builder.shared(METADATA) } else { Type::Any };
        let mut kinds = BTreeMap::new();
        for (name, definition) in builder.definitions {
            let names = definition["x-kubernetes-group-version-kind"].as_array();
            for kind in names.into_iter().flatten().filter_map(kind) {
                if !documents.kept.contains(&kind) {
                    continue;
                }
                if OWN.iter().any(|prefix| name.starts_with(prefix)) {
                    kinds.insert(kind, builder.shared(name));
                } else if has_fields(definition) {
                    kinds.insert(kind, root(definition, &metadata));
                }
            }
        }
        let mut schema = Self { minor, kinds, shared: builder.shared };
        schema.leave_status_out();
        schema.require_specs();
        schema.drop_empty_requirements();
        schema.drop_unused();
        schema
    }

    /// The written form, as long as can be read again: of a cluster with very many kinds of its own the longest are left
    /// out, and then nothing is known of them.
    pub fn write_short(mut self) -> String {
        loop {
            let text = self.write();
            if text.len() <= MAX_BYTES {
                return text;
            }
            let length = |of: &Type| serde_json::to_string(of).map_or(0, |text| text.len());
            let longest = self.kinds.iter().max_by_key(|(_, of)| length(of)).map(|(kind, _)| kind.clone());
            let Some(longest) = longest else { return text };
            self.kinds.remove(&longest);
            self.drop_unused();
        }
    }

    fn leave_status_out(&mut self) {
        for of in self.kinds.values() {
            let Type::Shared(at) = of else { continue };
            if let Some(Type::Object(object)) = self.shared.get_mut(*at)
                && let Some(status) = object.fields.get_mut("status")
            {
                *status = Field { of: Type::Any, required: false };
            }
        }
    }

    /// Nothing is the same as an empty object to the server; so where a `spec` must hold something, it must be there.
    fn require_specs(&mut self) {
        loop {
            let asks: Vec<bool> = self.shared.iter().map(asks).collect();
            let objects = self.shared.iter_mut().filter_map(|of| match of {
                Type::Object(object) => object.fields.get_mut("spec"),
                _ => None,
            });
            let open =
                |field: &&mut Field| !field.required && matches!(field.of, Type::Shared(at) if asks[at]);
            let mut found: Vec<&mut Field> = objects.filter(open).collect();
            found.iter_mut().for_each(|field| field.required = true);
            if found.is_empty() {
                return;
            }
        }
    }

    /// An object none of whose fields is required is not required itself: the server reads it as an empty one.
    fn drop_empty_requirements(&mut self) {
        loop {
            let asks: Vec<bool> = self.shared.iter().map(asks).collect();
            let mut changed = false;
            for of in &mut self.shared {
                let Type::Object(object) = of else { continue };
                for (name, field) in &mut object.fields {
                    if let Type::Shared(at) = field.of
                        && field.required
                        && !asks[at]
                        && !NOT_EMPTY.contains(&name.as_str())
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

    /// Keeps the shared types that a kind leads to, in the order in which the kinds do.
    fn drop_unused(&mut self) {
        let mut order: Vec<usize> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for of in self.kinds.values() {
            references(of, &mut open);
            while let Some(at) = open.pop() {
                if !order.contains(&at) {
                    order.push(at);
                    references(&self.shared[at], &mut open);
                }
            }
        }
        let new: BTreeMap<usize, usize> = order.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let mut kept: Vec<Type> = order.iter().map(|at| self.shared[*at].clone()).collect();
        for of in kept.iter_mut().chain(self.kinds.values_mut()) {
            renumber(of, &new);
        }
        self.shared = kept;
    }
}

/// Whether something in an object is required.
fn asks(of: &Type) -> bool {
    match of {
        Type::Object(object) => object.fields.values().any(|field| field.required),
        _ => true,
    }
}

fn references(of: &Type, into: &mut Vec<usize>) {
    match of {
        Type::Shared(at) => into.push(*at),
        Type::List(list) => references(&list.item, into),
        Type::Map(of) => references(of, into),
        Type::Object(object) => object.fields.values().rev().for_each(|field| references(&field.of, into)),
        _ => {}
    }
}

fn renumber(of: &mut Type, new: &BTreeMap<usize, usize>) {
    match of {
        Type::Shared(at) => *at = new[at],
        Type::List(list) => renumber(&mut list.item, new),
        Type::Map(of) => renumber(of, new),
        Type::Object(object) => object.fields.values_mut().for_each(|field| renumber(&mut field.of, new)),
        _ => {}
    }
}

/// Whether a custom kind says anything of itself beyond what every object has. One without a schema does not.
fn has_fields(definition: &Value) -> bool {
    let all = definition["properties"].as_object();
    all.is_some_and(|all| all.keys().any(|name| !matches!(&**name, "apiVersion" | "kind" | "metadata")))
}

fn kind(value: &Value) -> Option<KindName> {
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    Some((text("group")?, text("version")?, text("kind")?))
}

/// A value without the words for people: most of what these documents are.
struct Lean(Value);

impl<'de> Deserialize<'de> for Lean {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LeanVisitor).map(Self)
    }
}

struct LeanVisitor;

impl<'de> Visitor<'de> for LeanVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Lean(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = serde_json::Map::new();
        while let Some((name, Lean(value))) = access.next_entry::<String, Lean>()? {
            // A field may have this name too; then there is a schema behind it.
            if name != "description" || !value.is_string() {
                fields.insert(name, value);
            }
        }
        Ok(Value::Object(fields))
    }
}

struct Builder<'a> {
    definitions: &'a BTreeMap<String, Value>,
    places: BTreeMap<&'a str, usize>,
    shared: Vec<Type>,
}

impl<'a> Builder<'a> {
    /// A definition by its name: types with fields are shared, the others are written where they are used.
    fn shared(&mut self, name: &'a str) -> Type {
        if let Some(at) = self.places.get(name) {
            return Type::Shared(*at);
        }
        let definition = self.definitions.get(name).unwrap_or(&Value::Null);
        if definition["properties"].is_null() {
            return self.of("", definition);
        }
        let at = self.shared.len();
        self.places.insert(name, at);
        self.shared.push(Type::Any);
        self.shared[at] = self.of(&short(name), definition);
        Type::Shared(at)
    }

    /// The type that a schema describes; `owner` is the short name of the definition it is in.
    fn of(&mut self, owner: &str, schema: &'a Value) -> Type {
        let reference = [&schema["$ref"], &schema["allOf"][0]["$ref"]].into_iter().find_map(Value::as_str);
        if let Some(name) = reference.and_then(|reference| reference.strip_prefix(PREFIX)) {
            return self.shared(name);
        }
        if schema["format"] == "int-or-string" || schema["x-kubernetes-int-or-string"] == true {
            return Type::IntegerOrText;
        }
        match schema["type"].as_str() {
            Some("string") => text(schema),
            Some("boolean") => Type::Boolean,
            Some("integer") if schema["format"] == "int32" => Type::Int32,
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("array") => self.list(owner, schema),
            Some("object") if schema["properties"].is_object() => self.object(owner, schema),
            Some("object") if schema["additionalProperties"].is_object() => {
                Type::Map(Box::new(self.of(owner, &schema["additionalProperties"])))
            }
            _ if is_quantity(schema) => Type::Quantity,
            _ => Type::Any,
        }
    }

    fn list(&mut self, owner: &str, schema: &'a Value) -> Type {
        let item = self.of(owner, &schema["items"]);
        let fields = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
        let names = fields.filter(|_| schema["x-kubernetes-list-type"] == "map").filter_map(Value::as_str);
        let keys = names.map(|name| (name.to_owned(), self.default_of(&schema["items"], name))).collect();
        Type::List(Box::new(List { item, keys }))
    }

    /// What a field of a list's items is when it is left out.
    fn default_of(&self, items: &'a Value, field: &str) -> Option<String> {
        let name = [&items["$ref"], &items["allOf"][0]["$ref"]].into_iter().find_map(Value::as_str)?;
        let definition = self.definitions.get(name.strip_prefix(PREFIX)?)?;
        let default = definition["properties"][field]["default"].as_str()?;
        (!default.is_empty()).then(|| default.to_owned())
    }

    fn object(&mut self, owner: &str, schema: &'a Value) -> Type {
        let mut object = Object::default();
        let required = schema["required"].as_array();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let called = required.is_some_and(|names| names.iter().any(|other| other == name));
            let of = self.of(owner, property);
            let required = called && is_asked_for((owner, name), &of);
            object.fields.insert(name.clone(), Field { of, required });
        }
        Type::Object(object)
    }
}

fn text(schema: &Value) -> Type {
    if schema["format"] == "byte" {
        return Type::Base64;
    }
    let words = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if words.is_empty() { Type::Text } else { Type::OneOf(words) }
}

fn is_quantity(schema: &Value) -> bool {
    schema["oneOf"].as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "number"))
}

/// Whether the server asks for a field that its schema calls required.
fn is_asked_for(field: (&str, &str), of: &Type) -> bool {
    match of {
        Type::Boolean | Type::Number | Type::Quantity | Type::Any => false,
        Type::Int32 | Type::Integer => NOT_ZERO.contains(&field),
        _ => !OPTIONAL_AFTER_ALL.contains(&field),
    }
}

/// `v1.Container` of `io.k8s.api.core.v1.Container`.
fn short(name: &str) -> String {
    let mut parts = name.rsplit('.');
    let (kind, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{version}.{kind}")
}
