//! Label and field selectors.

use serde_json::{Map, Value};

use crate::object;
use crate::status::{ApiResult, StatusError};

#[derive(Clone, Debug, PartialEq)]
enum LabelRequirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
}

/// A label selector, from a query or from an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelRequirements(Vec<LabelRequirement>);

impl LabelRequirements {
    /// Parses the query form: `a=b,c!=d,e in (f,g),h,!i`.
    ///
    /// # Errors
    /// 400 if it is invalid.
    pub(crate) fn parse(text: &str) -> ApiResult<LabelRequirements> {
        let mut needs = Vec::new();
        for part in split_outside_parentheses(text) {
            let part = part.trim();
            if !part.is_empty() {
                needs.push(parse_requirement(part).ok_or_else(|| invalid_selector(text))?);
            }
        }
        Ok(LabelRequirements(needs))
    }

    /// Converts the object form (`matchLabels`, `matchExpressions`), or a plain map of labels.
    pub(crate) fn from_value(selector: &Value) -> LabelRequirements {
        let mut needs = Vec::new();
        let plain = selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
        let labels = if plain { selector.as_object() } else { object::map_at(selector, "matchLabels") };
        for (key, value) in labels.into_iter().flatten() {
            needs.push(LabelRequirement::In(key.clone(), vec![value.as_str().unwrap_or("").to_owned()]));
        }
        for expression in object::array_at(selector, "matchExpressions") {
            let key = object::str_at(expression, "key").to_owned();
            let values =
                object::array_at(expression, "values").iter().filter_map(Value::as_str).map(str::to_owned);
            match object::str_at(expression, "operator") {
                "In" => needs.push(LabelRequirement::In(key, values.collect())),
                "NotIn" => needs.push(LabelRequirement::NotIn(key, values.collect())),
                "DoesNotExist" => needs.push(LabelRequirement::DoesNotExist(key)),
                _ => needs.push(LabelRequirement::Exists(key)),
            }
        }
        LabelRequirements(needs)
    }

    pub(crate) fn matches(&self, labels: &Map<String, Value>) -> bool {
        let get = |key: &String| labels.get(key).and_then(Value::as_str);
        self.0.iter().all(|need| match need {
            LabelRequirement::In(key, values) => get(key).is_some_and(|v| values.iter().any(|w| w == v)),
            LabelRequirement::NotIn(key, values) => get(key).is_none_or(|v| values.iter().all(|w| w != v)),
            LabelRequirement::Exists(key) => labels.contains_key(key),
            LabelRequirement::DoesNotExist(key) => !labels.contains_key(key),
        })
    }

    /// Whether the object's own labels match.
    pub(crate) fn selects(&self, value: &Value) -> bool {
        match object::map_at(value, "metadata.labels") {
            Some(labels) => self.matches(labels),
            None => self.matches(&Map::new()),
        }
    }

    /// The query form, as in the scale subresource.
    pub(crate) fn to_query(&self) -> String {
        let mut parts: Vec<String> = self
            .0
            .iter()
            .map(|need| match need {
                LabelRequirement::In(k, v) if v.len() == 1 => format!("{k}={}", v[0]),
                LabelRequirement::In(k, v) => format!("{k} in ({})", v.join(",")),
                LabelRequirement::NotIn(k, v) => format!("{k} notin ({})", v.join(",")),
                LabelRequirement::Exists(k) => k.clone(),
                LabelRequirement::DoesNotExist(k) => format!("!{k}"),
            })
            .collect();
        parts.sort();
        parts.join(",")
    }
}

fn invalid_selector(text: &str) -> StatusError {
    StatusError::bad_request(format!("unable to parse requirement: {text:?} is not a valid label selector"))
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0_i32, 0, Vec::new());
    for (index, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&text[from..index]);
                from = index + 1;
            }
            _ => {}
        }
    }
    out.push(&text[from..]);
    out
}

fn parse_requirement(part: &str) -> Option<LabelRequirement> {
    if let Some(key) = part.strip_prefix('!') {
        return Some(LabelRequirement::DoesNotExist(key.trim().to_owned()));
    }
    let one = |k: &str, v: &str| (k.trim().to_owned(), vec![v.trim().to_owned()]);
    if let Some((key, value)) = part.split_once("!=") {
        let (key, values) = one(key, value);
        return Some(LabelRequirement::NotIn(key, values));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        let (key, values) = one(key, value);
        return Some(LabelRequirement::In(key, values));
    }
    if let Some((head, values)) = part.split_once('(') {
        let values = values.strip_suffix(')')?.split(',').map(|v| v.trim().to_owned()).collect();
        let (key, operator) = head.trim().rsplit_once(' ')?;
        return match operator {
            "in" => Some(LabelRequirement::In(key.trim().to_owned(), values)),
            "notin" => Some(LabelRequirement::NotIn(key.trim().to_owned(), values)),
            _ => None,
        };
    }
    (!part.contains(' ')).then(|| LabelRequirement::Exists(part.to_owned()))
}

/// A field selector: `metadata.name=x,status.phase!=Running`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSelector(Vec<(String, String, bool)>);

/// Selectable fields by kind, in addition to `metadata.name` and `metadata.namespace`.
const SELECTABLE_FIELDS: [(&str, &[&str]); 7] = [
    (
        "Pod",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
        ],
    ),
    (
        "Event",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "type",
            "source",
            "reportingComponent",
        ],
    ),
    ("Namespace", &["status.phase"]),
    ("Node", &["spec.unschedulable"]),
    ("Secret", &["type"]),
    ("Job", &["status.successful"]),
    ("ReplicaSet", &["status.replicas"]),
];

impl FieldSelector {
    /// Parses the query form.
    ///
    /// # Errors
    /// 400 for a field that is not selectable for the kind, as on the real server.
    pub(crate) fn parse(kind: &str, text: &str) -> ApiResult<FieldSelector> {
        let mut needs = Vec::new();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let (key, value, equal) = if let Some((k, v)) = part.split_once("!=") {
                (k, v, false)
            } else if let Some((k, v)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (k, v, true)
            } else {
                let message =
                    format!("invalid field selector: invalid selector: '{text}'; can't understand '{part}'");
                return Err(StatusError::bad_request(message));
            };
            let known = SELECTABLE_FIELDS.iter().any(|(k, fields)| *k == kind && fields.contains(&key));
            if !known && !matches!(key, "metadata.name" | "metadata.namespace") {
                return Err(StatusError::bad_request(format!("field label not supported: {key}")));
            }
            needs.push((key.to_owned(), value.to_owned(), equal));
        }
        Ok(FieldSelector(needs))
    }

    pub(crate) fn selects(&self, value: &Value) -> bool {
        self.0.iter().all(|(path, expected, equal)| {
            let path = if path == "source" { "source.component" } else { path };
            let found = match object::value_at(value, path) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            (found == *expected) == *equal
        })
    }
}
