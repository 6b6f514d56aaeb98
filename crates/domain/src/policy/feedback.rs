//! Feedback: values of live objects that people or programs want to see, well-known ones and their own (`health.md` C.4).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::ObjectRef;
use crate::overrides::ObjectSelector;
use crate::pick::Pick;

/// Most bytes of one reported value.
pub const FEEDBACK_BYTES: usize = 1_024;
/// Most values reported of one object; those asked for come first.
const MAX_VALUES: usize = 32;

/// Reports a value of some objects under a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRule {
    /// Of which objects; empty for all.
    #[serde(default)]
    pub object: ObjectSelector,
    /// What the value is called.
    pub name: String,
    /// Where it is: a JSON pointer or simple JSONPath ([`crate::pick`]).
    pub path: String,
}

/// One reported value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// What it is called, such as `ReadyReplicas`.
    pub name: String,
    /// The value: a text, a number, a boolean, or any JSON. Null if there is a problem.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub value: Value,
    /// Why there is no value; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

/// Well-known values: kind, name, where.
const WELL_KNOWN: [(&str, &str, &str); 15] = [
    ("Deployment", "ReadyReplicas", "/status/readyReplicas"),
    ("Deployment", "Replicas", "/status/replicas"),
    ("Deployment", "AvailableReplicas", "/status/availableReplicas"),
    ("StatefulSet", "ReadyReplicas", "/status/readyReplicas"),
    ("StatefulSet", "Replicas", "/status/replicas"),
    ("StatefulSet", "AvailableReplicas", "/status/availableReplicas"),
    ("DaemonSet", "NumberReady", "/status/numberReady"),
    ("DaemonSet", "DesiredNumberScheduled", "/status/desiredNumberScheduled"),
    ("DaemonSet", "NumberAvailable", "/status/numberAvailable"),
    ("Job", "JobComplete", "/status/conditions[type=Complete]/status"),
    ("Job", "JobSucceeded", "/status/succeeded"),
    ("Pod", "PodReady", "/status/conditions[type=Ready]/status"),
    ("Pod", "PodPhase", "/status/phase"),
    ("PersistentVolumeClaim", "Phase", "/status/phase"),
    ("Namespace", "Phase", "/status/phase"),
];

/// The values to report of a live object: those the rules ask for, then the well-known ones of its kind that it has.
pub fn feedback(rules: &[FeedbackRule], object: &ObjectRef, live: &Value) -> Vec<Feedback> {
    let asked = rules.iter().filter(|rule| rule.object.names(object)).map(|rule| asked(rule, live));
    let known = WELL_KNOWN.iter().filter(|(kind, ..)| *kind == object.kind).filter_map(|(_, name, path)| {
        let pick: Pick = path.parse().ok()?;
        Some(bounded(name, (*pick.values(live).first()?).clone()))
    });
    asked.chain(known).take(MAX_VALUES).collect()
}

fn asked(rule: &FeedbackRule, live: &Value) -> Feedback {
    let problem = |problem: String| Feedback { name: rule.name.clone(), value: Value::Null, problem };
    let pick: Pick = match rule.path.parse() {
        Ok(pick) => pick,
        Err(bad) => return problem(format!("{bad}.")),
    };
    match pick.values(live).as_slice() {
        [] => problem(format!("There is nothing at {} yet.", rule.path)),
        [one] => bounded(&rule.name, (*one).clone()),
        many => bounded(&rule.name, Value::Array(many.iter().map(|value| (*value).clone()).collect())),
    }
}

/// Half a value would be read as a whole one: a value that is too large is left out and said to be.
fn bounded(name: &str, value: Value) -> Feedback {
    let bytes = match &value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    let (value, problem) = if bytes > FEEDBACK_BYTES {
        (Value::Null, format!("The value has {bytes} bytes; at most {FEEDBACK_BYTES} are reported."))
    } else {
        (value, String::new())
    };
    Feedback { name: name.to_owned(), value, problem }
}
