//! From a request's body to an object of the kind: unknown fields dropped and named, types checked, nulls dropped,
//! quantities in canonical spelling, a custom resource's own defaults filled in.

use serde_json::{Map, Value};

use crate::quantity::Quantity;
use crate::schema::{Node, Scalar, Ty};
use crate::status::{Answer, Cause, Refusal};

/// What was found on the way.
#[derive(Default)]
pub(crate) struct Findings {
    /// Paths of fields the kind does not have.
    pub unknown: Vec<String>,
    /// Values of a wrong type.
    pub mistyped: Vec<Mistyped>,
}

/// A value of a wrong type.
pub(crate) struct Mistyped {
    pub path: String,
    pub found: &'static str,
    pub wanted: &'static str,
    pub value: Value,
}

/// Parses JSON, or YAML where the media type says so.
pub(crate) fn parse(body: &[u8], yaml: bool) -> Answer<Value> {
    match serde_json::from_slice(body) {
        Ok(value) => Ok(value),
        Err(_) if yaml => {
            let text = std::str::from_utf8(body).map_err(|e| Refusal::bad_request(e.to_string()))?;
            serde_saphyr::from_str(text)
                .map_err(|e| Refusal::bad_request(format!("error decoding YAML: {e}")))
        }
        Err(error) => {
            let message = format!("the object provided is unrecognized (must be of type JSON): {error}");
            Err(Refusal::bad_request(message))
        }
    }
}

/// Brings `value` into the shape of its type; custom kinds keep their wrongly typed values for validation to name.
pub(crate) fn conform(value: &mut Value, ty: Ty<'_>) -> Findings {
    let mut findings = Findings::default();
    walk(value, ty, &mut String::new(), &mut findings);
    findings
}

/// Fills in the defaults a custom resource's schema declares.
pub(crate) fn schema_defaults(value: &mut Value, ty: Ty<'_>) {
    match (ty.node(), value) {
        (Node::Struct { fields, .. }, Value::Object(map)) => {
            for (key, field) in fields {
                if !map.contains_key(&**key)
                    && let Some(default) = &field.default
                {
                    map.insert(key.to_string(), default.clone());
                }
                if let Some(value) = map.get_mut(&**key) {
                    schema_defaults(value, ty.sibling(field.node));
                }
            }
        }
        (Node::Map { .. }, Value::Object(map)) => {
            map.values_mut().for_each(|v| schema_defaults(v, ty.elem()))
        }
        (Node::List { .. }, Value::Array(items)) => {
            items.iter_mut().for_each(|v| schema_defaults(v, ty.elem()))
        }
        _ => {}
    }
}

fn walk(value: &mut Value, ty: Ty<'_>, path: &mut String, out: &mut Findings) {
    match (ty.node(), &mut *value) {
        (Node::Opaque, _) => {}
        (Node::Deduced, _) => crate::object::drop_nulls(value),
        (Node::Scalar(scalar), _) => check(value, *scalar, path, out),
        (Node::Struct { .. } | Node::Map { .. }, Value::Object(map)) => walk_map(map, ty, path, out),
        (Node::List { .. }, Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                let len = path.len();
                path.push_str(&format!("[{index}]"));
                walk(item, ty.elem(), path, out);
                path.truncate(len);
            }
        }
        (Node::Struct { .. } | Node::Map { .. }, other) => mistyped(other, "object", path, out),
        (Node::List { .. }, other) => mistyped(other, "array", path, out),
    }
}

fn walk_map(map: &mut Map<String, Value>, ty: Ty<'_>, path: &mut String, out: &mut Findings) {
    map.retain(|key, value| {
        let len = path.len();
        if len > 0 {
            path.push('.');
        }
        path.push_str(key);
        let keep = match ty.child(key) {
            None => {
                out.unknown.push(path.clone());
                false
            }
            // A null says "not set", except as a map's value.
            Some(_) if value.is_null() => false,
            Some(child) => {
                walk(value, child, path, out);
                true
            }
        };
        path.truncate(len);
        keep
    });
}

fn check(value: &mut Value, scalar: Scalar, path: &str, out: &mut Findings) {
    match (scalar, &*value) {
        (Scalar::Text | Scalar::Time, Value::String(_)) | (Scalar::Bool, Value::Bool(_)) => {}
        (Scalar::Int, Value::Number(n)) if n.is_i64() || n.is_u64() => {}
        (Scalar::Int, Value::Number(n)) if n.as_f64().is_some_and(|f| f.fract() == 0.0 && f.abs() < 9e15) => {
            #[expect(clippy::cast_possible_truncation, reason = "bounded by the guard")]
            let whole = n.as_f64().unwrap_or(0.0) as i64;
            *value = whole.into();
        }
        (Scalar::Number, Value::Number(_)) | (Scalar::IntOrText, Value::Number(_) | Value::String(_)) => {}
        (Scalar::Quantity, Value::String(text)) => match Quantity::parse(text) {
            Some(quantity) => *value = quantity.canonical().into(),
            None => mistyped(value, "quantity", path, out),
        },
        (Scalar::Quantity, Value::Number(number)) => match Quantity::parse(&number.to_string()) {
            Some(quantity) => *value = quantity.canonical().into(),
            None => mistyped(value, "quantity", path, out),
        },
        (Scalar::Quantity, _) => mistyped(value, "quantity", path, out),
        (Scalar::Text | Scalar::Time, _) => mistyped(value, "string", path, out),
        (Scalar::Int, _) => mistyped(value, "integer", path, out),
        (Scalar::Number, _) => mistyped(value, "number", path, out),
        (Scalar::Bool, _) => mistyped(value, "boolean", path, out),
        (Scalar::IntOrText, _) => mistyped(value, "integer or string", path, out),
    }
}

fn mistyped(value: &Value, wanted: &'static str, path: &str, out: &mut Findings) {
    let found = match value {
        Value::Null => return,
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    out.mistyped.push(Mistyped { path: path.to_owned(), found, wanted, value: value.clone() });
}

impl Mistyped {
    /// A built-in kind is decoded into the server's own types, which refuses the whole request.
    pub(crate) fn refuse(&self, kind: &str, version: &str) -> Refusal {
        let (found, wanted) = (go(self.found, ""), go(self.wanted, &self.path));
        let head = format!("{kind} in version \"{version}\" cannot be handled as a {kind}");
        if self.wanted == "quantity" {
            return Refusal::bad_request(format!(
                "{head}: quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            ));
        }
        let path = plain(&self.path);
        Refusal::bad_request(format!(
            "{head}: json: cannot unmarshal {found} into Go struct field {kind}.{path} of type {wanted}"
        ))
    }

    /// What server-side apply says of it, which looks at types before anything is decoded; `None` for what it takes
    /// in any type.
    pub(crate) fn in_apply(&self) -> Option<String> {
        let wanted = match self.wanted {
            "integer" | "number" => "numeric (int or float)",
            "object" => "map",
            "array" => "list",
            "quantity" | "integer or string" => return None,
            other => other,
        };
        Some(format!(".{}: expected {wanted}, got {}", self.path, self.found))
    }

    /// A custom resource is checked against its schema, which names every value.
    pub(crate) fn cause(&self) -> Cause {
        let shown = match &self.value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => self.value.clone(),
            _ => Value::from(self.found),
        };
        let detail = format!("{} in body must be of type {}: \"{}\"", self.path, self.wanted, self.found);
        Cause { reason: "FieldValueTypeInvalid", ..Cause::invalid(&*self.path, &shown, &detail) }
    }
}

/// A path without list indices, as Go's decoder names fields.
fn plain(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut skip = false;
    for c in path.chars() {
        match c {
            '[' => skip = true,
            ']' => skip = false,
            c if !skip => out.push(c),
            _ => {}
        }
    }
    out
}

fn go(kind: &'static str, path: &str) -> &'static str {
    match kind {
        "integer" if path.ends_with("Seconds") => "int64",
        "integer" if path.is_empty() => "number",
        "integer" => "int32",
        "boolean" => "bool",
        "object" if !path.is_empty() => "map[string]string",
        "array" if !path.is_empty() => "[]string",
        other => other,
    }
}
