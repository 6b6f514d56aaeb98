//! Checks an object against the schema of its kind.

use std::collections::HashSet;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::path_step::{FieldPathStep, json_pointer};
use super::position::SchemaPosition;
use super::{KindKey, ListType, ObjectType, Schema, ValueType, messages};
use crate::kubernetes::quantity::Quantity;
use crate::text::template;

/// Maximum number of violations reported for one object; more would not help to correct it.
pub const MAX_VIOLATIONS: usize = 50;

/// Base64 as Go decodes it: with padding, and with any trailing bits.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// One violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// JSON pointer of the field; for a missing field, of its place.
    pub pointer: String,
    /// What is wrong, without the name of the object and without the value: `spec.replicas must be a whole number`.
    pub message: String,
    /// The value that is there instead, as a message shows it; `None` where that is not said.
    pub found: Option<String>,
    /// What to do about it.
    pub hint: String,
    /// Whether a later version of the kind may allow it, since versions only add fields and enumeration values.
    pub may_be_newer: bool,
}

impl SchemaViolation {
    /// The message with the value that is there.
    pub fn describe(&self) -> String {
        match &self.found {
            Some(found) => format!("{}, not {found}", self.message),
            None => self.message.clone(),
        }
    }
}

impl Schema {
    /// The violations of an object of this kind; none if the kind is unknown. Texts with a template expression are not
    /// checked, because rendering replaces them.
    pub fn check(&self, kind: &KindKey, object: &Value) -> Vec<SchemaViolation> {
        self.kind_type(kind).map(|of| self.check_value(of, object)).unwrap_or_default()
    }

    /// The violations of a value of this type.
    pub(crate) fn check_value(&self, of: &ValueType, value: &Value) -> Vec<SchemaViolation> {
        let mut walk = SchemaChecker { position: SchemaPosition::new(self), violations: Vec::new() };
        walk.check_value(of, value);
        walk.violations
    }
}

struct SchemaChecker<'a> {
    position: SchemaPosition<'a>,
    violations: Vec<SchemaViolation>,
}

impl<'a> SchemaChecker<'a> {
    fn check_value(&mut self, of: &'a ValueType, value: &'a Value) {
        // The API server treats null as absent, in fields and in items.
        if value.is_null() || self.violations.len() >= MAX_VIOLATIONS || is_template(value) {
            return;
        }
        match (self.position.schema.resolve(of), value) {
            (ValueType::Any, _) => {}
            (ValueType::List(list), Value::Array(items)) => self.check_list(list, items),
            (ValueType::Map(of), Value::Object(map)) => {
                for (key, value) in map {
                    self.check_child(FieldPathStep::Key(key), of, value);
                }
            }
            (ValueType::Object(object), Value::Object(map)) => self.check_object(object, map),
            (ValueType::Base64, Value::String(text)) if !is_base64(text) => {
                self.push_violation(messages::invalid_base64(&self.position.steps));
            }
            (ValueType::Enum(words), Value::String(text)) if !text.is_empty() && !words.contains(text) => {
                self.push_newer_violation(messages::invalid_enum_value(&self.position.steps, text, words));
            }
            (ValueType::Quantity, Value::String(text)) if Quantity::parse(text).is_none() => {
                self.push_violation(messages::invalid_quantity(&self.position.steps, text));
            }
            (of, value) if !is_type_of(of, value) => self.push_wrong_type(of, value),
            _ => {}
        }
    }

    fn check_child(&mut self, step: FieldPathStep<'a>, of: &'a ValueType, value: &'a Value) {
        self.position.steps.push(step);
        self.check_value(of, value);
        self.position.steps.pop();
    }

    fn check_object(&mut self, object: &'a ObjectType, map: &'a serde_json::Map<String, Value>) {
        for (key, value) in map {
            match object.fields.get(key) {
                Some(field) => {
                    self.position.enclosing.push((self.position.steps.len(), object));
                    self.check_child(FieldPathStep::Key(key), &field.value_type, value);
                    self.position.enclosing.pop();
                }
                None if !object.allows_unknown => {
                    let message = messages::unknown_field(&self.position, object, key, map);
                    self.position.steps.push(FieldPathStep::Key(key));
                    self.push_newer_violation(message);
                    self.position.steps.pop();
                }
                None => {}
            }
        }
        let required = object.fields.iter().filter(|(_, field)| field.required);
        for (name, field) in required.filter(|(name, _)| map.get(*name).is_none_or(Value::is_null)) {
            let message = messages::missing_field(
                &self.position.steps,
                name,
                self.position.schema.resolve(&field.value_type),
            );
            self.position.steps.push(FieldPathStep::Key(name));
            self.push_violation(message);
            self.position.steps.pop();
        }
    }

    fn check_list(&mut self, list: &'a ListType, items: &'a [Value]) {
        let mut seen = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            self.check_child(FieldPathStep::Item(at), &list.item, item);
            let Some(keys) = item_keys(list, item) else { continue };
            if !seen.insert(keys.clone()) {
                self.position.steps.push(FieldPathStep::Item(at));
                self.push_violation(messages::duplicate_item(&self.position.steps, &list.keys, &keys));
                self.position.steps.pop();
            }
        }
    }

    fn push_violation(&mut self, (what, hint): (String, String)) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(SchemaViolation {
                pointer: json_pointer(&self.position.steps),
                message: what,
                found: None,
                hint,
                may_be_newer: false,
            });
        }
    }

    /// A value of another type, which the violation has beside the message: it may be a secret.
    fn push_wrong_type(&mut self, of: &ValueType, value: &Value) {
        let before = self.violations.len();
        self.push_violation(messages::wrong_type(&self.position.steps, of, value));
        if let Some(fault) = self.violations.get_mut(before) {
            fault.found = Some(messages::value_label(value));
        }
    }

    fn push_newer_violation(&mut self, message: (String, String)) {
        let before = self.violations.len();
        self.push_violation(message);
        if let Some(fault) = self.violations.get_mut(before) {
            fault.may_be_newer = true;
        }
    }
}

/// The key values of an item; `None` for a list without keys, and if a key is missing or a template.
fn item_keys(list: &ListType, item: &Value) -> Option<Vec<String>> {
    if list.keys.is_empty() {
        return None;
    }
    let key = |(field, default): &(String, Option<String>)| match &item[field] {
        Value::Null => default.clone(),
        value if is_template(value) => None,
        Value::String(text) => Some(text.clone()),
        value @ Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    list.keys.iter().map(key).collect()
}

fn is_template(value: &Value) -> bool {
    value.is_string() && template::is_templated(value)
}

fn is_base64(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    BASE64.decode(text).is_ok()
}

/// Whether the JSON type of a non-null value matches.
fn is_type_of(of: &ValueType, value: &Value) -> bool {
    let int32 = |value: &Value| as_integer(value).is_some_and(|number| i32::try_from(number).is_ok());
    match of {
        ValueType::Any | ValueType::Shared(_) => true,
        ValueType::Text | ValueType::Base64 | ValueType::Enum(_) => value.is_string(),
        ValueType::Boolean => value.is_boolean(),
        ValueType::Int32 => int32(value),
        ValueType::Integer => as_integer(value).is_some(),
        ValueType::Number => value.is_number(),
        ValueType::IntegerOrText => value.is_string() || int32(value),
        ValueType::Quantity => value.is_string() || value.is_number(),
        ValueType::List(_) => value.is_array(),
        ValueType::Map(_) | ValueType::Object(_) => value.is_object(),
    }
}

/// The value as an integer; `3.0` counts as one.
fn as_integer(value: &Value) -> Option<i64> {
    /// A 64-bit float represents every integer up to this one exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = value.as_f64().filter(|float| value.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 53 bits")]
    value.as_i64().or(float.map(|float| float as i64))
}
