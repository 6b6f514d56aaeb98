//! Fills values in, everywhere in an object.

use serde_json::Value;

use super::expression::{self, BadExpression, Expression, Filter};
use super::{Lookup, Variable};

const OPEN: &str = "${{";
const CLOSE: &str = "}}";
/// A text with more expressions than this is taken for an attack.
const MOST: usize = 1_000;

/// Parents whose values Kubernetes takes only as text.
const TEXT_ONLY: [&str; 6] = ["labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData"];

/// What can't be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The value is not known of this cluster, now.
    Missing {
        /// Where, as a JSON pointer.
        pointer: String,
        /// What.
        variable: Variable,
    },
    /// It will never be one.
    Bad {
        /// Where, as a JSON pointer.
        pointer: String,
        /// Why.
        why: BadExpression,
    },
    /// It is left as it is, but looks like a slip of the finger.
    Foreign {
        /// Where, as a JSON pointer.
        pointer: String,
        /// What was written.
        written: String,
        /// What was probably meant.
        meant: &'static str,
    },
}

/// Whether there is anything to fill in.
pub fn is_templated(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(OPEN),
        Value::Array(items) => items.iter().any(is_templated),
        Value::Object(map) => map.values().any(is_templated),
        _ => false,
    }
}

/// Fills in every expression of an object and says which it could not. What has a problem stays as written.
pub fn fill(object: &mut Value, values: &impl Lookup) -> Vec<Problem> {
    let mut filler = Filler { values, problems: Vec::new() };
    filler.value(object, &mut Spot { pointer: String::new(), text_only: false });
    filler.problems
}

struct Filler<'a, L> {
    values: &'a L,
    problems: Vec<Problem>,
}

struct Spot {
    pointer: String,
    /// Whether Kubernetes takes only text here.
    text_only: bool,
}

impl<L: Lookup> Filler<'_, L> {
    fn value(&mut self, value: &mut Value, spot: &mut Spot) {
        match value {
            Value::String(text) if text.contains(OPEN) => {
                if let Some(filled) = self.text(text, spot) {
                    *value = filled;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.below(item, spot, &index.to_string(), spot.text_only);
                }
            }
            Value::Object(map) => {
                let is_variable = map.contains_key("name") && map.contains_key("value");
                for (key, item) in map.iter_mut() {
                    let own = spot.pointer.rsplit('/').next().unwrap_or_default();
                    let text_only = TEXT_ONLY.contains(&own) || (is_variable && key == "value");
                    self.below(item, spot, &key.replace('~', "~0").replace('/', "~1"), text_only);
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, value: &mut Value, spot: &mut Spot, key: &str, text_only: bool) {
        let (length, before) = (spot.pointer.len(), spot.text_only);
        spot.pointer.push('/');
        spot.pointer.push_str(key);
        spot.text_only = text_only;
        self.value(value, spot);
        spot.pointer.truncate(length);
        spot.text_only = before;
    }

    /// What a text becomes; `None` if it stays.
    fn text(&mut self, text: &str, spot: &Spot) -> Option<Value> {
        if let Some(inner) = alone(text) {
            let value = self.expression(inner, spot)?;
            return Some(if spot.text_only { plain(&value).into() } else { value });
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        for _ in 0..MOST {
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
                self.unclosed(found, spot);
                rest = found;
                break;
            };
            match self.expression(&found[OPEN.len()..end], spot) {
                Some(value) => filled.push_str(&plain(&value)),
                None => filled.push_str(&found[..end + CLOSE.len()]),
            }
            rest = &found[end + CLOSE.len()..];
        }
        filled.push_str(rest);
        Some(filled.into())
    }

    /// Only ours is an error: another tool may mean something by it.
    fn unclosed(&mut self, found: &str, spot: &Spot) {
        if expression::read(&found[OPEN.len()..]).is_some() {
            let why = BadExpression {
                message: "An expression is not closed.".to_owned(),
                hint: "Write }} behind it, or $${{ for a plain ${{.".to_owned(),
            };
            self.problems.push(Problem::Bad { pointer: spot.pointer.clone(), why });
        }
    }

    fn expression(&mut self, inner: &str, spot: &Spot) -> Option<Value> {
        let pointer = || spot.pointer.clone();
        let Some(read) = expression::read(inner) else {
            if let Some(meant) = expression::probable_root(inner) {
                let written = inner.trim().chars().take(80).collect();
                self.problems.push(Problem::Foreign { pointer: pointer(), written, meant });
            }
            return None;
        };
        let problem = match read.map(|expression| self.evaluate(&expression)) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(Unfilled::Missing(variable))) => Problem::Missing { pointer: pointer(), variable },
            Ok(Err(Unfilled::Bad(why))) | Err(why) => Problem::Bad { pointer: pointer(), why },
        };
        self.problems.push(problem);
        None
    }

    fn evaluate(&self, expression: &Expression) -> Result<Value, Unfilled> {
        let mut value = self.values.get(&expression.variable);
        for filter in &expression.filters {
            value = match (filter, value) {
                (Filter::Default(text), None) => Some(text.as_str().into()),
                (_, None) => None,
                (Filter::Default(_), some) => some,
                (Filter::Join(between), Some(Value::Array(items))) => {
                    Some(items.iter().map(plain).collect::<Vec<_>>().join(between).into())
                }
                (Filter::Join(_), some) => some,
                (Filter::Lower, Some(value)) => Some(plain(&value).to_lowercase().into()),
                (Filter::Int, Some(value)) => Some(self.int(&expression.variable, &value)?),
            };
        }
        value.ok_or_else(|| Unfilled::Missing(expression.variable.clone()))
    }

    fn int(&self, variable: &Variable, value: &Value) -> Result<Value, Unfilled> {
        let text = plain(value);
        let number = self.values.whole_number(&text).ok_or_else(|| BadExpression {
            message: format!("{variable} is {text:?}, which is no whole number."),
            hint: "Change the value, or leave out | int.".to_owned(),
        });
        Ok(number?.into())
    }
}

enum Unfilled {
    Missing(Variable),
    Bad(BadExpression),
}

impl From<BadExpression> for Unfilled {
    fn from(why: BadExpression) -> Self {
        Self::Bad(why)
    }
}

/// The inside of a text that is one expression and nothing else.
fn alone(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    (!inner.contains(CLOSE) && !inner.contains(OPEN)).then_some(inner)
}

/// A value inside a text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
