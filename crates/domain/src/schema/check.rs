//! Walks through an object beside the schema of its kind and tells what does not fit.

use std::collections::HashSet;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::step::{Step, pointer};
use super::{KindName, List, Object, Schema, Type, words};
use crate::quantity::Quantity;
use crate::template;

/// Most faults that are told of one object: who has so many is not helped by more.
pub const MOST_FAULTS: usize = 50;

/// As Go reads base64: padded, and what is left over in the last bits does not matter.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer of the field; of a field that is missing, where it would be.
    pub pointer: String,
    /// What is wrong, without the object: `unknown field spec.replica`.
    pub what: String,
    /// What to do about it.
    pub hint: String,
    /// Whether a later version of the same kind may take it: it only ever adds fields and words.
    pub may_be_newer: bool,
}

impl Schema {
    /// What does not fit in an object of this kind; nothing if the kind is not known. Texts with a template expression
    /// are not judged, they become something else.
    pub fn check(&self, kind: &KindName, object: &Value) -> Vec<Fault> {
        self.kind(kind).map(|of| self.check_as(of, object)).unwrap_or_default()
    }

    /// What does not fit in a value of this type.
    pub(crate) fn check_as(&self, of: &Type, value: &Value) -> Vec<Fault> {
        let mut walk = Walk { schema: self, steps: Vec::new(), above: Vec::new(), faults: Vec::new() };
        walk.value(of, value);
        walk.faults
    }
}

pub(super) struct Walk<'a> {
    pub schema: &'a Schema,
    pub steps: Vec<Step<'a>>,
    /// The objects on the way here, each with the number of steps that lead to it.
    pub above: Vec<(usize, &'a Object)>,
    faults: Vec<Fault>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, of: &'a Type, value: &'a Value) {
        // Nothing is the same as no value, in every field and in every item.
        if value.is_null() || self.faults.len() >= MOST_FAULTS || is_template(value) {
            return;
        }
        match (self.schema.resolve(of), value) {
            (Type::Any, _) => {}
            (Type::List(list), Value::Array(items)) => self.list(list, items),
            (Type::Map(of), Value::Object(map)) => {
                for (key, value) in map {
                    self.below(Step::Key(key), of, value);
                }
            }
            (Type::Object(object), Value::Object(map)) => self.object(object, map),
            (Type::Base64, Value::String(text)) if !is_base64(text) => {
                self.fault(words::not_base64(&self.steps));
            }
            (Type::OneOf(words), Value::String(text)) if !text.is_empty() && !words.contains(text) => {
                self.fault_may_be_newer(words::not_one_of(&self.steps, text, words));
            }
            (Type::Quantity, Value::String(text)) if Quantity::parse(text).is_none() => {
                self.fault(words::no_quantity(&self.steps, text));
            }
            (of, value) if !fits(of, value) => self.fault(words::wrong_type(&self.steps, of, value)),
            _ => {}
        }
    }

    fn below(&mut self, step: Step<'a>, of: &'a Type, value: &'a Value) {
        self.steps.push(step);
        self.value(of, value);
        self.steps.pop();
    }

    fn object(&mut self, object: &'a Object, map: &'a serde_json::Map<String, Value>) {
        for (key, value) in map {
            match object.fields.get(key) {
                Some(field) => {
                    self.above.push((self.steps.len(), object));
                    self.below(Step::Key(key), &field.of, value);
                    self.above.pop();
                }
                None if !object.open => {
                    let said = words::unknown(self, object, key, map);
                    self.steps.push(Step::Key(key));
                    self.fault_may_be_newer(said);
                    self.steps.pop();
                }
                None => {}
            }
        }
        let required = object.fields.iter().filter(|(_, field)| field.required);
        for (name, field) in required.filter(|(name, _)| map.get(*name).is_none_or(Value::is_null)) {
            let said = words::missing(&self.steps, name, self.schema.resolve(&field.of));
            self.steps.push(Step::Key(name));
            self.fault(said);
            self.steps.pop();
        }
    }

    fn list(&mut self, list: &'a List, items: &'a [Value]) {
        let mut seen = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            self.below(Step::Item(at), &list.item, item);
            let Some(keys) = keys_of(list, item) else { continue };
            if !seen.insert(keys.clone()) {
                self.steps.push(Step::Item(at));
                self.fault(words::twice(&self.steps, &list.keys, &keys));
                self.steps.pop();
            }
        }
    }

    fn fault(&mut self, (what, hint): (String, String)) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(Fault { pointer: pointer(&self.steps), what, hint, may_be_newer: false });
        }
    }

    fn fault_may_be_newer(&mut self, said: (String, String)) {
        let before = self.faults.len();
        self.fault(said);
        if let Some(fault) = self.faults.get_mut(before) {
            fault.may_be_newer = true;
        }
    }
}

/// The keys of an item; `None` for a list without keys, and where a key is missing or not known yet.
fn keys_of(list: &List, item: &Value) -> Option<Vec<String>> {
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

/// Whether a value that is not null may stand here, as far as its JSON type tells.
fn fits(of: &Type, value: &Value) -> bool {
    let int32 = |value: &Value| whole(value).is_some_and(|number| i32::try_from(number).is_ok());
    match of {
        Type::Any | Type::Shared(_) => true,
        Type::Text | Type::Base64 | Type::OneOf(_) => value.is_string(),
        Type::Boolean => value.is_boolean(),
        Type::Int32 => int32(value),
        Type::Integer => whole(value).is_some(),
        Type::Number => value.is_number(),
        Type::IntegerOrText => value.is_string() || int32(value),
        Type::Quantity => value.is_string() || value.is_number(),
        Type::List(_) => value.is_array(),
        Type::Map(_) | Type::Object(_) => value.is_object(),
    }
}

/// A whole number, also when it is written as `3.0`.
fn whole(value: &Value) -> Option<i64> {
    /// Largest whole number that a 64-bit float holds exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = value.as_f64().filter(|float| value.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 53 bits")]
    value.as_i64().or(float.map(|float| float as i64))
}
