//! Replaces the expressions of an object by values.

use serde_json::Value;

use super::budget::ErrorKind;
use super::expression::{self, Expression, ExpressionFilter, InvalidExpression, OPEN};
use super::{TemplateBudget, Variable, VariableSource};
use crate::kubernetes::field_path::escape_pointer_token;

const CLOSE: &str = "}}";
/// Maximum number of expressions replaced in one text, as a bound on hostile input.
const MAX_EXPRESSIONS: usize = 1_000;

/// Most bytes of the pointer of an error: it is copied for each of them.
const MAX_POINTER_BYTES: usize = 512;
/// Most characters of a value in a message.
const MAX_SHOWN_CHARS: usize = 100;

/// Maps whose values have to be text in Kubernetes.
const TEXT_ONLY_MAPS: [&str; 6] =
    ["labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData"];

/// An expression that was not replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateError {
    /// The value is not known for this cluster.
    MissingValue {
        /// JSON pointer of the text.
        pointer: String,
        /// The variable.
        variable: Variable,
    },
    /// The expression is not valid, or its value can't be converted.
    Invalid {
        /// JSON pointer of the text.
        pointer: String,
        /// Why.
        error: InvalidExpression,
    },
    /// The expression has an unknown root that is similar to a known one: probably a typing error.
    UnknownRoot {
        /// JSON pointer of the text.
        pointer: String,
        /// The expression.
        text: String,
        /// The nearest known root.
        suggestion: &'static str,
    },
    /// Further errors of the object that are not listed; at least one of each kind among them is, for this or an earlier object
    /// of the bundle.
    Omitted {
        /// How many.
        count: usize,
    },
}

/// Whether a text in the value contains `${{`.
pub fn is_templated(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(OPEN),
        Value::Array(items) => items.iter().any(is_templated),
        Value::Object(map) => map.values().any(is_templated),
        _ => false,
    }
}

/// Replaces every expression of an object, within the budget of its bundle. Returns those that were not replaced; they stay as
/// written. Few errors of each kind are listed, and the others counted, in the last one: errors are larger than expressions.
pub fn fill(
    object: &mut Value,
    values: &impl VariableSource,
    budget: &mut TemplateBudget,
) -> Vec<TemplateError> {
    budget.begin_object();
    let mut filler = TemplateFiller { values, budget, errors: Vec::new(), omitted: 0 };
    filler.fill_value(object, &mut FillPosition { pointer: String::new(), text_only: false });
    let TemplateFiller { mut errors, omitted, .. } = filler;
    if omitted > 0 {
        errors.push(TemplateError::Omitted { count: omitted });
    }
    errors
}

struct TemplateFiller<'a, L> {
    values: &'a L,
    budget: &'a mut TemplateBudget,
    errors: Vec<TemplateError>,
    /// How many errors are not listed.
    omitted: usize,
}

/// Where a value to fill is.
struct FillPosition {
    pointer: String,
    /// Whether Kubernetes accepts only text here.
    text_only: bool,
}

impl FillPosition {
    /// The pointer for an error.
    fn shown(&self) -> String {
        let end = self.pointer.floor_char_boundary(MAX_POINTER_BYTES);
        let mark = if end < self.pointer.len() { "…" } else { "" };
        format!("{}{mark}", &self.pointer[..end])
    }
}

impl<L: VariableSource> TemplateFiller<'_, L> {
    fn fill_value(&mut self, value: &mut Value, position: &mut FillPosition) {
        match value {
            Value::String(text) if text.contains(OPEN) => {
                if let Some(filled) = self.fill_text(text, position) {
                    *value = filled;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.fill_child(item, position, &index.to_string(), position.text_only);
                }
            }
            Value::Object(map) => {
                let is_variable = map.contains_key("name") && map.contains_key("value");
                for (key, item) in map.iter_mut() {
                    let own = position.pointer.rsplit('/').next().unwrap_or_default();
                    let text_only = TEXT_ONLY_MAPS.contains(&own) || (is_variable && key == "value");
                    self.fill_child(item, position, &escape_pointer_token(key), text_only);
                }
            }
            _ => {}
        }
    }

    fn fill_child(&mut self, value: &mut Value, position: &mut FillPosition, key: &str, text_only: bool) {
        let (length, before) = (position.pointer.len(), position.text_only);
        position.pointer.push('/');
        position.pointer.push_str(key);
        position.text_only = text_only;
        self.fill_value(value, position);
        position.pointer.truncate(length);
        position.text_only = before;
    }

    /// The replacement of a text; `None` if the text stays.
    fn fill_text(&mut self, text: &str, position: &FillPosition) -> Option<Value> {
        if let Some(inner) = sole_expression(text) {
            let value = self.fill_expression(inner, position)?;
            return Some(if position.text_only { value_text(&value).into() } else { value });
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        for _ in 0..MAX_EXPRESSIONS {
            let Some(at) = rest.find(OPEN) else { break };
            let (before, found) = rest.split_at(at);
            if let Some(before) = before.strip_suffix('$') {
                filled.push_str(before);
                filled.push_str(OPEN);
                rest = &found[OPEN.len()..];
                continue;
            }
            filled.push_str(before);
            let Some(end) = found.find(CLOSE) else {
                self.push_unclosed(found, position);
                rest = found;
                break;
            };
            match self.fill_expression(&found[OPEN.len()..end], position) {
                Some(value) => filled.push_str(&value_text(&value)),
                None => filled.push_str(&found[..end + CLOSE.len()]),
            }
            rest = &found[end + CLOSE.len()..];
        }
        filled.push_str(rest);
        Some(filled.into())
    }

    /// Reports an unclosed expression, unless its root belongs to another tool.
    fn push_unclosed(&mut self, found: &str, position: &FillPosition) {
        if expression::parse(&found[OPEN.len()..]).is_some() {
            let why = InvalidExpression {
                message: "An expression is not closed.".to_owned(),
                hint: "Close it with }}, or write $${{ for a literal ${{.".to_owned(),
            };
            self.push_error(ErrorKind::Invalid, || TemplateError::Invalid {
                pointer: position.shown(),
                error: why,
            });
        }
    }

    /// Lists an error, unless its object or bundle has many of its kind.
    fn push_error(&mut self, kind: ErrorKind, error: impl FnOnce() -> TemplateError) {
        if self.budget.charge_error(kind) {
            self.errors.push(error());
        } else {
            self.omitted += 1;
        }
    }

    fn fill_expression(&mut self, inner: &str, position: &FillPosition) -> Option<Value> {
        if self.budget.is_exceeded() {
            return None;
        }
        let Some(read) = expression::parse(inner) else {
            if let Some(meant) = expression::suggest_root(inner) {
                self.push_error(ErrorKind::UnknownRoot, || TemplateError::UnknownRoot {
                    pointer: position.shown(),
                    text: inner.trim().chars().take(80).collect(),
                    suggestion: meant,
                });
            }
            return None;
        };
        let evaluated = read.map(|expression| self.evaluate(&expression));
        match evaluated {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(EvaluationError::MissingValue(variable))) => {
                self.push_error(ErrorKind::MissingValue, || TemplateError::MissingValue {
                    pointer: position.shown(),
                    variable,
                })
            }
            Ok(Err(EvaluationError::Invalid(why))) | Err(why) => self.push_error(ErrorKind::Invalid, || {
                TemplateError::Invalid { pointer: position.shown(), error: why }
            }),
        }
        None
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Value, EvaluationError> {
        let mut value = self.values.get(&expression.variable);
        self.budget.begin_expression();
        if let Some(value) = &value {
            self.budget.charge(count_items(value), text_length(value))?;
        }
        for filter in &expression.filters {
            if let Some(value) = &value {
                self.budget.charge(count_items(value), result_length(filter, value))?;
            }
            value = match (filter, value) {
                (ExpressionFilter::Default(text), None) => Some(text.as_str().into()),
                (_, None) => None,
                (ExpressionFilter::Default(_), some) => some,
                (ExpressionFilter::Map(text), Some(Value::Array(items))) => {
                    Some(items.iter().map(|item| map_item(text, item)).collect::<Vec<_>>().into())
                }
                (ExpressionFilter::Map(text), Some(item)) => Some(map_item(text, &item).into()),
                (ExpressionFilter::Join(separator), Some(Value::Array(items))) => {
                    Some(items.iter().map(value_text).collect::<Vec<_>>().join(separator).into())
                }
                (ExpressionFilter::Join(_), some) => some,
                (ExpressionFilter::Lower, Some(value)) => Some(value_text(&value).to_lowercase().into()),
                (ExpressionFilter::Int, Some(value)) => {
                    Some(self.convert_integer(&expression.variable, &value)?)
                }
            };
        }
        value.ok_or_else(|| EvaluationError::MissingValue(expression.variable.clone()))
    }

    fn convert_integer(&self, variable: &Variable, value: &Value) -> Result<Value, EvaluationError> {
        let text = value_text(value);
        let number = self.values.parse_integer(&text).ok_or_else(|| InvalidExpression {
            message: format!(
                "{variable} is {:?}, which is not a whole number.",
                text.chars().take(MAX_SHOWN_CHARS).collect::<String>()
            ),
            hint: "Change the value, or remove | int.".to_owned(),
        });
        Ok(number?.into())
    }
}

enum EvaluationError {
    MissingValue(Variable),
    Invalid(InvalidExpression),
}

impl From<InvalidExpression> for EvaluationError {
    fn from(why: InvalidExpression) -> Self {
        Self::Invalid(why)
    }
}

/// The inner text if the whole text is one expression.
fn sole_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    (!inner.contains(CLOSE) && !inner.contains(OPEN)).then_some(inner)
}

/// The texts of a value: the items of a list, or one.
fn count_items(value: &Value) -> usize {
    value.as_array().map_or(1, Vec::len)
}

/// The bytes of [`value_text`], without writing it.
fn text_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| text_length(item).saturating_add(1)).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + text_length(value) + 6).sum(),
        // Numbers, truth values and null have no more.
        _ => 24,
    }
}

/// The bytes that a filter produces of a value, at most.
fn result_length(filter: &ExpressionFilter, value: &Value) -> usize {
    let length = text_length(value);
    match filter {
        ExpressionFilter::Default(text) => length.saturating_add(text.len()),
        ExpressionFilter::Map(text) => {
            let places = text.matches(expression::ITEM).count();
            let fixed = text.len().saturating_mul(count_items(value));
            length.saturating_mul(places).saturating_add(fixed)
        }
        ExpressionFilter::Join(separator) => {
            separator.len().saturating_mul(count_items(value)).saturating_add(length)
        }
        // A lower-case letter has at most one byte more than two of the upper-case one.
        ExpressionFilter::Lower => length.saturating_mul(2),
        ExpressionFilter::Int => length,
    }
}

/// The text with the item in place of `{}`.
fn map_item(text: &str, item: &Value) -> String {
    text.replace(expression::ITEM, &value_text(item))
}

/// The text of a value inside a longer text.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
