//! Decodes a request body into an object of the kind: drops and reports unknown fields, checks types, drops nulls,
//! converts quantities to canonical form, fills in a custom resource's schema defaults.

use serde_json::{Map, Value};

use crate::quantity::FormattedQuantity;
use crate::schema::{Scalar, SchemaNode, TypeRef};
use crate::status::{ApiResult, StatusCause, StatusError};

/// The problems found while decoding.
#[derive(Default)]
pub(crate) struct DecodeIssues {
    /// Paths of fields that the kind does not have.
    pub unknown_fields: Vec<String>,
    /// Values of a wrong type.
    pub type_mismatches: Vec<TypeMismatch>,
}

/// A value of a wrong type.
pub(crate) struct TypeMismatch {
    pub path: String,
    pub actual: &'static str,
    pub expected: &'static str,
    pub value: Value,
}

/// Parses JSON, or YAML if `yaml`.
pub(crate) fn parse_body(body: &[u8], yaml: bool) -> ApiResult<Value> {
    match serde_json::from_slice(body) {
        Ok(value) => Ok(value),
        Err(_) if yaml => {
            let text = std::str::from_utf8(body).map_err(|e| StatusError::bad_request(e.to_string()))?;
            serde_saphyr::from_str(text)
                .map_err(|e| StatusError::bad_request(format!("error decoding YAML: {e}")))
        }
        Err(error) => {
            let message = format!("the object provided is unrecognized (must be of type JSON): {error}");
            Err(StatusError::bad_request(message))
        }
    }
}

/// Conforms `value` to its type. Values of a wrong type are reported and left in place.
pub(crate) fn conform_to_schema(value: &mut Value, ty: TypeRef<'_>) -> DecodeIssues {
    let mut findings = DecodeIssues::default();
    walk_value(value, ty, &mut String::new(), &mut findings);
    findings
}

/// Fills in the defaults of a custom resource's schema.
pub(crate) fn apply_schema_defaults(value: &mut Value, ty: TypeRef<'_>) {
    match (ty.node(), value) {
        (SchemaNode::Struct { fields, .. }, Value::Object(map)) => {
            for (key, field) in fields {
                if !map.contains_key(&**key)
                    && let Some(default) = &field.default
                {
                    map.insert(key.to_string(), default.clone());
                }
                if let Some(value) = map.get_mut(&**key) {
                    apply_schema_defaults(value, ty.sibling(field.node));
                }
            }
        }
        (SchemaNode::Map { .. }, Value::Object(map)) => {
            map.values_mut().for_each(|v| apply_schema_defaults(v, ty.elem()))
        }
        (SchemaNode::List { .. }, Value::Array(items)) => {
            items.iter_mut().for_each(|v| apply_schema_defaults(v, ty.elem()))
        }
        _ => {}
    }
}

fn walk_value(value: &mut Value, ty: TypeRef<'_>, path: &mut String, out: &mut DecodeIssues) {
    match (ty.node(), &mut *value) {
        (SchemaNode::Opaque, _) => {}
        (SchemaNode::Deduced, _) => crate::object::remove_nulls(value),
        (SchemaNode::Scalar(scalar), _) => check_scalar(value, *scalar, path, out),
        (SchemaNode::Struct { .. } | SchemaNode::Map { .. }, Value::Object(map)) => {
            walk_map(map, ty, path, out)
        }
        (SchemaNode::List { .. }, Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                let len = path.len();
                path.push_str(&format!("[{index}]"));
                walk_value(item, ty.elem(), path, out);
                path.truncate(len);
            }
        }
        (SchemaNode::Struct { .. } | SchemaNode::Map { .. }, other) => {
            record_mismatch(other, "object", path, out)
        }
        (SchemaNode::List { .. }, other) => record_mismatch(other, "array", path, out),
    }
}

fn walk_map(map: &mut Map<String, Value>, ty: TypeRef<'_>, path: &mut String, out: &mut DecodeIssues) {
    map.retain(|key, value| {
        let len = path.len();
        if len > 0 {
            path.push('.');
        }
        path.push_str(key);
        let keep = match ty.child(key) {
            None => {
                out.unknown_fields.push(path.clone());
                false
            }
            // A null means "not set".
            Some(_) if value.is_null() => false,
            Some(child) => {
                walk_value(value, child, path, out);
                true
            }
        };
        path.truncate(len);
        keep
    });
}

fn check_scalar(value: &mut Value, scalar: Scalar, path: &str, out: &mut DecodeIssues) {
    match (scalar, &*value) {
        (Scalar::Text | Scalar::Time, Value::String(_)) | (Scalar::Bool, Value::Bool(_)) => {}
        (Scalar::Int, Value::Number(n)) if n.is_i64() || n.is_u64() => {}
        (Scalar::Int, Value::Number(n)) if n.as_f64().is_some_and(|f| f.fract() == 0.0 && f.abs() < 9e15) => {
            #[expect(clippy::cast_possible_truncation, reason = "bounded by the guard")]
            let whole = n.as_f64().unwrap_or(0.0) as i64;
            *value = whole.into();
        }
        (Scalar::Number, Value::Number(_)) | (Scalar::IntOrText, Value::Number(_) | Value::String(_)) => {}
        (Scalar::Quantity, Value::String(text)) => match FormattedQuantity::parse(text) {
            Some(quantity) => *value = quantity.to_canonical().into(),
            None => record_mismatch(value, "quantity", path, out),
        },
        (Scalar::Quantity, Value::Number(number)) => match FormattedQuantity::parse(&number.to_string()) {
            Some(quantity) => *value = quantity.to_canonical().into(),
            None => record_mismatch(value, "quantity", path, out),
        },
        (Scalar::Quantity, _) => record_mismatch(value, "quantity", path, out),
        (Scalar::Text | Scalar::Time, _) => record_mismatch(value, "string", path, out),
        (Scalar::Int, _) => record_mismatch(value, "integer", path, out),
        (Scalar::Number, _) => record_mismatch(value, "number", path, out),
        (Scalar::Bool, _) => record_mismatch(value, "boolean", path, out),
        (Scalar::IntOrText, _) => record_mismatch(value, "integer or string", path, out),
    }
}

fn record_mismatch(value: &Value, wanted: &'static str, path: &str, out: &mut DecodeIssues) {
    let found = match value {
        Value::Null => return,
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    out.type_mismatches.push(TypeMismatch {
        path: path.to_owned(),
        actual: found,
        expected: wanted,
        value: value.clone(),
    });
}

impl TypeMismatch {
    /// The error for a built-in kind: the real server decodes into Go types and rejects the whole request.
    pub(crate) fn decode_error(&self, kind: &str, version: &str) -> StatusError {
        let (found, wanted) = (go_type_name(self.actual, ""), go_type_name(self.expected, &self.path));
        let head = format!("{kind} in version \"{version}\" cannot be handled as a {kind}");
        if self.expected == "quantity" {
            return StatusError::bad_request(format!(
                "{head}: quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            ));
        }
        let path = strip_indices(&self.path);
        StatusError::bad_request(format!(
            "{head}: json: cannot unmarshal {found} into Go struct field {kind}.{path} of type {wanted}"
        ))
    }

    /// The message of server-side apply, which checks types before decoding; `None` for scalars that it accepts in any
    /// type.
    pub(crate) fn apply_message(&self) -> Option<String> {
        let wanted = match self.expected {
            "integer" | "number" => "numeric (int or float)",
            "object" => "map",
            "array" => "list",
            "quantity" | "integer or string" => return None,
            other => other,
        };
        Some(format!(".{}: expected {wanted}, got {}", self.path, self.actual))
    }

    /// The cause for a custom resource: it is validated against its schema, which reports every value.
    pub(crate) fn status_cause(&self) -> StatusCause {
        let shown = match &self.value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => self.value.clone(),
            _ => Value::from(self.actual),
        };
        let detail = format!("{} in body must be of type {}: \"{}\"", self.path, self.expected, self.actual);
        StatusCause { reason: "FieldValueTypeInvalid", ..StatusCause::invalid(&*self.path, &shown, &detail) }
    }
}

/// A path without list indices, as in the errors of Go's decoder.
fn strip_indices(path: &str) -> String {
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

fn go_type_name(kind: &'static str, path: &str) -> &'static str {
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
