//! Inputs for the operations of the OpenAPI document: values that fit a schema, values that do not, and odd texts; the same for a seed.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Map, Value, json};

use crate::openapi_document::{DocumentedOperation, ServedDocument};

/// Texts that a client may send.
const TEXTS: [&str; 18] = [
    "",
    "a",
    "web",
    "eu-1",
    "default",
    "local/web",
    "env=prod",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "2020-13-45T00:00:00Z",
    "-1",
    "null",
    "../../etc/passwd",
    "a\tb\nc",
    "' OR 1=1 --",
    "%25%",
    "\u{202e}\u{fc}n\u{ef}c\u{f6}de-\u{65e5}\u{672c}",
    "\u{1f600}",
    "{{ .Values.x }} ${{ cluster.name }}",
];
/// Numbers at the limits of types.
const NUMBERS: [i64; 9] = [0, 1, 2, 7, -1, i32::MAX as i64, u32::MAX as i64 + 1, i64::MAX, i64::MIN];
/// The depth from which only required fields are generated.
const MAX_DEPTH: u32 = 7;
/// The length of a text that is too long for a name.
const LONG_TEXT_CHARS: usize = 2_000;

/// Generates inputs from the schemas of a document.
pub struct InputGenerator<'d> {
    document: &'d ServedDocument,
    random: StdRng,
    /// Ids of what the walk created.
    ids: Vec<String>,
}

impl<'d> InputGenerator<'d> {
    pub fn new(document: &'d ServedDocument, seed: u64) -> Self {
        Self { document, random: StdRng::seed_from_u64(seed), ids: Vec::new() }
    }

    /// Adds an id, if there is one.
    pub fn add_id(&mut self, id: &Value) {
        self.ids.extend(id.as_str().map(str::to_owned));
    }

    /// The parameters of an operation at this place.
    pub fn parameters<'o>(&self, operation: &DocumentedOperation<'o>, place: &str) -> Vec<&'o Value> {
        let all = operation.value["parameters"].as_array().into_iter().flatten();
        all.filter(|parameter| parameter["in"] == place).collect()
    }

    pub fn is_chosen(&mut self, probability: f64) -> bool {
        self.random.random_bool(probability)
    }

    pub fn choose<'c, T>(&mut self, items: &'c [T]) -> &'c T {
        &items[self.random.random_range(0..items.len())]
    }

    fn text(&mut self) -> String {
        if self.is_chosen(0.03) {
            return "x".repeat(LONG_TEXT_CHARS);
        }
        (*self.choose(&TEXTS)).to_owned()
    }

    /// A value for a parameter of the path: mostly a name of something that exists.
    pub fn path_value(&mut self, name: &str, schema: &Value) -> String {
        if self.is_chosen(0.1) {
            return Some(self.text()).filter(|text| !text.is_empty()).unwrap_or_else(|| "x".to_owned());
        }
        let known: &[&str] = match name {
            "project" | "org" => &["default"],
            "workload" | "releaseName" => &["web", "web", "api", "missing"],
            "cluster" => &["eu-1", "eu-2", "missing"],
            "group" | "clustergroup" => &["europe", "asia"],
            "feature" => &["deployment", "membershipLock"],
            "repository" => &["local", "charts"],
            "chart" | "name" => &["web", "o1"],
            "version" | "revision" => &["1", "2", "1.0.0"],
            "namespace" | "release" | "user" | "channel" => &["apps", "bob"],
            _ => &[],
        };
        if let Some(names) = schema["enum"].as_array() {
            return self.choose(names).as_str().unwrap().to_owned();
        }
        if !known.is_empty() {
            return (*self.choose(known)).to_owned();
        }
        let ids = self.ids.clone();
        if ids.is_empty() { "missing".to_owned() } else { self.choose(&ids).clone() }
    }

    /// A value for a parameter of the query.
    pub fn query_value(&mut self, name: &str, schema: &Value) -> Value {
        match name {
            "cluster" if self.is_chosen(0.7) => json!("eu-1"),
            "limit" if self.is_chosen(0.7) => json!(2),
            "state" if self.is_chosen(0.7) => json!("Failed,Healthy"),
            "labelSelector" if self.is_chosen(0.7) => json!("env in (prod,test),!x"),
            "action" if self.is_chosen(0.7) => json!("publish"),
            _ => self.value(schema),
        }
    }

    /// A value that fits a schema.
    pub fn value(&mut self, schema: &Value) -> Value {
        self.value_at(schema, 0)
    }

    fn value_at(&mut self, schema: &Value, depth: u32) -> Value {
        if depth > 2 * MAX_DEPTH {
            return Value::Null;
        }
        let document = self.document;
        let schema = document.resolve(schema);
        if let Some(names) = schema["enum"].as_array() {
            return self.choose(names).clone();
        }
        if let Some(options) = schema["oneOf"].as_array() {
            let option = self.choose(options);
            return self.value_at(option, depth + 1);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let mut merged = Map::new();
            for part in parts {
                if let Value::Object(fields) = self.value_at(part, depth + 1) {
                    merged.extend(fields);
                }
            }
            return Value::Object(merged);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.choose(kinds).as_str().unwrap(),
            kind => kind.as_str().unwrap_or("any"),
        };
        match kind {
            "object" => self.map(schema, depth),
            "array" if depth < MAX_DEPTH => {
                let length = *self.choose(&[0, 1, 1, 2]);
                (0..length).map(|_| self.value_at(&schema["items"], depth + 1)).collect()
            }
            "array" => json!([]),
            "string" => Value::from(self.text()),
            "integer" => Value::from(*self.choose(&NUMBERS)),
            "number" => json!(0.5),
            "boolean" => Value::from(self.is_chosen(0.5)),
            "null" => Value::Null,
            _ => self.choose(&[Value::Null, json!(1), json!("x"), json!({"a": 1}), json!([1])]).clone(),
        }
    }

    fn map(&mut self, schema: &Value, depth: u32) -> Value {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let chance = match depth {
            0..4 => 0.4,
            4..MAX_DEPTH => 0.1,
            _ => 0.0,
        };
        let mut fields = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&Value::from(name.as_str())) || self.is_chosen(chance) {
                fields.insert(name.clone(), self.value_at(property, depth + 1));
            }
        }
        if schema["additionalProperties"].is_object() && depth < MAX_DEPTH && self.is_chosen(0.5) {
            fields.insert(self.text(), self.value_at(&schema["additionalProperties"], depth + 1));
        }
        Value::Object(fields)
    }

    /// The value with one change somewhere: a field of another type, one too many or one too few.
    pub fn mutate(&mut self, value: Value) -> Value {
        let Value::Object(mut fields) = value else { return self.unfit_value() };
        let names: Vec<String> = fields.keys().cloned().collect();
        if names.is_empty() || self.is_chosen(0.2) {
            fields.insert("unknownField".to_owned(), json!(1));
            return Value::Object(fields);
        }
        let name = self.choose(&names).clone();
        let before = fields.remove(&name).unwrap_or_default();
        match self.random.random_range(0..4) {
            0 => {}
            1 | 2 => drop(fields.insert(name, self.mutate(before))),
            _ => drop(fields.insert(name, self.unfit_value())),
        }
        Value::Object(fields)
    }

    fn unfit_value(&mut self) -> Value {
        let values = [
            Value::Null,
            json!(-1.5),
            json!(1e308),
            json!(u64::MAX),
            json!("x"),
            json!(true),
            json!([[[]]]),
            json!({"a": {"a": 1}}),
        ];
        self.choose(&values).clone()
    }

    /// A body that is no JSON, or none that any operation accepts.
    pub fn broken_json(&mut self) -> Vec<u8> {
        let deep = "[".repeat(300);
        let texts: [&[u8]; 7] =
            [b"", b"{", b"[1,", b"\xff\xfe", b"{\"a\": 1, \"a\": 2}", b"[]", deep.as_bytes()];
        self.choose(&texts).to_vec()
    }

    pub fn bytes(&mut self) -> Vec<u8> {
        (0..40).map(|_| self.random.random()).collect()
    }
}
