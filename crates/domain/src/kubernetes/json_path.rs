//! Selection of fields by JSON pointer or simple JSONPath (a subset of RFC 9535), for ignore and feedback rules (S3).
//!
//! A JSON pointer is a [`FieldPath`] and may select items by field (`/spec/containers[name=web]/image`). The JSONPath subset
//! is `$.spec.replicas`, `.data["a.b"]`, `.items[0]`, `.items[-1]`, `.items[*].name`, `[?(@.type=="Ready")]`, also in
//! the braces of kubectl. Recursive descent (`..`), expressions and slices are not supported, so the cost of a selection is
//! bounded by the size of the object.

use std::str::FromStr;

use serde_json::Value;

use crate::kubernetes::field_path::{FieldPath, MAX_BYTES, MAX_SEGMENTS, PathSegment, scalar_text};

/// One segment of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum JsonPathStep {
    /// A key of a map.
    Key(String),
    /// An item of a list; from its end if negative.
    Index(i64),
    /// A key of a map or an item of a list, as in a JSON pointer.
    KeyOrIndex(String),
    /// Every item of a list, or every value of a map.
    Wildcard,
    /// The items for which all of these hold: field and the text of its scalar value.
    Filter(Vec<(String, String)>),
}

/// A selection of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonPath(Vec<JsonPathStep>);

/// The text is not a selection of fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} names no field: {why}")]
pub struct InvalidJsonPath {
    text: String,
    why: String,
}

impl FromStr for JsonPath {
    type Err = InvalidJsonPath;
    fn from_str(text: &str) -> Result<Self, InvalidJsonPath> {
        let bad = |why: String| InvalidJsonPath { text: text.chars().take(120).collect(), why };
        if text.len() > MAX_BYTES {
            return Err(bad(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let steps = if text.starts_with('/') {
            let path: FieldPath = text
                .parse()
                .map_err(|error: crate::kubernetes::field_path::InvalidFieldPath| bad(error.to_string()))?;
            path.0.into_iter().map(JsonPathStep::from).collect()
        } else {
            parse_json_path(text).map_err(bad)?
        };
        match steps.len() {
            0 => Err(bad("it selects the whole object".to_owned())),
            many if many > MAX_SEGMENTS => Err(bad(format!("it has more than {MAX_SEGMENTS} parts"))),
            _ => Ok(Self(steps)),
        }
    }
}

impl From<PathSegment> for JsonPathStep {
    fn from(segment: PathSegment) -> Self {
        match segment {
            PathSegment::Key(key) => Self::KeyOrIndex(key),
            PathSegment::Item(conditions) => Self::Filter(conditions),
        }
    }
}

impl JsonPath {
    /// The values that it selects in `root`, in order.
    pub fn select_values<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        self.0.iter().fold(vec![root], |found, step| {
            found
                .into_iter()
                .flat_map(|value| step.select_children(value).into_iter().map(|(_, child)| child))
                .collect()
        })
    }

    /// The paths of its values in `root`, with list items by index.
    pub fn select_paths(&self, root: &Value) -> Vec<FieldPath> {
        let begin = vec![(FieldPath::default(), root)];
        let all = self.0.iter().fold(begin, |found, step| {
            let below = |(path, value)| {
                let path: FieldPath = path;
                step.select_children(value).into_iter().map(move |(key, child)| (path.with_key(&key), child))
            };
            found.into_iter().flat_map(below).collect()
        });
        all.into_iter().map(|(path, _)| path).collect()
    }

    /// Whether the field at `path` is selected or lies in a selected one. Items are compared by the path's conditions.
    pub fn covers(&self, path: &FieldPath) -> bool {
        self.0.len() <= path.0.len()
            && self.0.iter().zip(&path.0).all(|(step, segment)| match (step, segment) {
                (JsonPathStep::Wildcard, _) => true,
                (JsonPathStep::Key(key) | JsonPathStep::KeyOrIndex(key), PathSegment::Key(other)) => {
                    key == other
                }
                (JsonPathStep::Index(at), PathSegment::Key(key)) => *key == at.to_string(),
                (JsonPathStep::Filter(filter), PathSegment::Item(conditions)) => {
                    filter.iter().all(|one| conditions.contains(one))
                }
                _ => false,
            })
    }
}

impl JsonPathStep {
    /// Key or index, and value, of the children that the step selects.
    fn select_children<'a>(&self, value: &'a Value) -> Vec<(String, &'a Value)> {
        match (self, value) {
            (Self::Key(key) | Self::KeyOrIndex(key), Value::Object(map)) => {
                map.get(key).map(|child| (key.clone(), child)).into_iter().collect()
            }
            (Self::KeyOrIndex(key), Value::Array(items)) => {
                let at = crate::kubernetes::field_path::parse_index(key);
                at.and_then(|at| items.get(at)).map(|item| (key.clone(), item)).into_iter().collect()
            }
            (Self::Index(at), Value::Array(items)) => {
                let at = if *at < 0 {
                    items.len().checked_sub(at.unsigned_abs() as usize)
                } else {
                    usize::try_from(*at).ok()
                };
                at.and_then(|at| Some((at.to_string(), items.get(at)?))).into_iter().collect()
            }
            (Self::Wildcard, Value::Object(map)) => {
                map.iter().map(|(key, child)| (key.clone(), child)).collect()
            }
            (Self::Wildcard, Value::Array(items)) => {
                items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
            }
            (Self::Filter(conditions), Value::Array(items)) => {
                let holds = |item: &Value| {
                    conditions.iter().all(|(key, text)| {
                        item.get(key).and_then(scalar_text).is_some_and(|actual| actual == *text)
                    })
                };
                let all = items.iter().enumerate().filter(|(_, item)| holds(item));
                all.map(|(at, item)| (at.to_string(), item)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Parses a JSONPath.
fn parse_json_path(text: &str) -> Result<Vec<JsonPathStep>, String> {
    let inner = text.trim();
    let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
    let mut rest = inner.strip_prefix('$').unwrap_or(inner);
    if !rest.starts_with(['.', '[']) {
        return Err("write a JSON pointer (/spec/replicas) or a JSONPath ($.spec.replicas)".to_owned());
    }
    let mut steps = Vec::new();
    while !rest.is_empty() {
        rest = if let Some(after) = rest.strip_prefix('[') {
            parse_bracket_step(after, &mut steps)?
        } else if let Some(after) = rest.strip_prefix('.') {
            parse_dot_step(after, &mut steps)?
        } else {
            return Err(format!("before {rest:?} there should be a dot or a bracket"));
        };
    }
    Ok(steps)
}

fn parse_dot_step<'a>(after: &'a str, steps: &mut Vec<JsonPathStep>) -> Result<&'a str, String> {
    if after.starts_with('.') {
        return Err("recursive descent with .. is not supported; name every field on the way".to_owned());
    }
    // `.[0]` and `.['a']` are also accepted.
    if after.starts_with('[') {
        return Ok(after);
    }
    let end = after.find(['.', '[']).unwrap_or(after.len());
    let (key, rest) = after.split_at(end);
    match key {
        "" => return Err("a dot is followed by nothing".to_owned()),
        "*" => steps.push(JsonPathStep::Wildcard),
        key => steps.push(JsonPathStep::Key(key.to_owned())),
    }
    Ok(rest)
}

fn parse_bracket_step<'a>(after: &'a str, steps: &mut Vec<JsonPathStep>) -> Result<&'a str, String> {
    if let Some(quote) = after.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (key, rest) = after[1..]
            .split_once(quote)
            .ok_or_else(|| format!("the {quote} in {after:?} is never closed"))?;
        let rest = rest.strip_prefix(']').ok_or("after a quoted key there should be ]")?;
        steps.push(JsonPathStep::Key(key.to_owned()));
        return Ok(rest);
    }
    let (inside, rest) = match after.strip_prefix("?(") {
        Some(filter) => filter.split_once(")]").map(|(inside, rest)| (Err(inside), rest)),
        None => after.split_once(']').map(|(inside, rest)| (Ok(inside), rest)),
    }
    .ok_or("a [ is never closed")?;
    steps.push(match inside {
        Ok("*") => JsonPathStep::Wildcard,
        Ok(number) => JsonPathStep::Index(number.trim().parse().map_err(|_| {
            format!("[{number}] is not an index; write [0], [*], ['key'] or [?(@.name==\"web\")]")
        })?),
        Err(filter) => JsonPathStep::Filter(vec![parse_filter(filter)?]),
    });
    Ok(rest)
}

/// `@.name=="web"`: one field of the item and its value.
fn parse_filter(filter: &str) -> Result<(String, String), String> {
    let wrong = || format!("[?({filter})] is not supported; write [?(@.name==\"web\")]");
    let (field, value) = filter.split_once("==").ok_or_else(wrong)?;
    let field = field.trim().strip_prefix("@.").ok_or_else(wrong)?;
    let value = value.trim();
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    if field.is_empty() || field.contains(['.', '[']) {
        return Err(wrong());
    }
    Ok((field.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_path(text: &str) -> JsonPath {
        text.parse().unwrap()
    }

    fn object() -> Value {
        json!({
            "metadata": {"annotations": {"a.b/c": "1"}},
            "spec": {"replicas": 3, "containers": [{"name": "web", "image": "a"}, {"name": "log", "image": "b"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        })
    }

    #[test]
    fn pointers_and_json_paths_select_the_same_fields() {
        let object = object();
        for (text, found) in [
            ("/spec/replicas", json!([3])),
            ("$.spec.replicas", json!([3])),
            ("{.spec.replicas}", json!([3])),
            (".metadata.annotations['a.b/c']", json!(["1"])),
            ("/metadata/annotations/a.b~1c", json!(["1"])),
            ("$.spec.containers[*].image", json!(["a", "b"])),
            ("$.spec.containers[-1].image", json!(["b"])),
            ("$.spec.containers[?(@.name==\"web\")].image", json!(["a"])),
            ("/spec/containers[name=log]/image", json!(["b"])),
            ("/spec/containers/0/image", json!(["a"])),
            (".status.conditions[?(@.type=='Ready')].status", json!(["True"])),
            ("$.spec.nothing.here", json!([])),
            ("$.spec.replicas[0]", json!([])),
        ] {
            assert_eq!(json!(parse_path(text).select_values(&object)), found, "{text}");
        }
    }

    #[test]
    fn paths_of_values_are_pointers_into_the_given_object() {
        let object = object();
        let pointer = parse_path("$.spec.containers[*].image").select_paths(&object);
        let texts: Vec<String> = pointer.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["/spec/containers/0/image", "/spec/containers/1/image"]);
    }

    #[test]
    fn a_selection_covers_the_field_and_everything_in_it_however_items_are_selected() {
        let path = |text: &str| text.parse::<FieldPath>().unwrap();
        let covers = |pick_text: &str, at: &str| parse_path(pick_text).covers(&path(at));
        assert!(covers("$.spec.replicas", "/spec/replicas"));
        assert!(covers("$.spec.template", "/spec/template/metadata/labels/a"));
        assert!(covers("$.spec.containers[*].image", "/spec/containers[name=web]/image"));
        assert!(covers("/spec/containers[name=web]/image", "/spec/containers[name=web]/image"));
        assert!(!covers("/spec/containers[name=web]/image", "/spec/containers[name=log]/image"));
        assert!(!covers("$.spec.replicas", "/spec"));
        assert!(!covers("$.spec.replicas", "/spec/paused"));
    }

    #[test]
    fn unsupported_text_is_rejected_with_the_reason() {
        for (text, why) in [
            ("spec.replicas", "JSON pointer"),
            ("$", "JSON pointer"),
            ("$..image", ".."),
            ("$.spec[", "never closed"),
            ("$.spec[1:2]", "not an index"),
            ("$.spec[?(@.a.b==1)]", "not supported"),
            ("$.spec.", "nothing"),
            ("/a~x", "~0"),
        ] {
            let error = text.parse::<JsonPath>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(".a".repeat(600).parse::<JsonPath>().is_err());
        assert!(".a".repeat(100).parse::<JsonPath>().is_err());
    }
}
