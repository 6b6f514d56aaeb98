//! Feedback: values of live objects that agents report, configured ones and well-known ones.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubernetes::json_path::JsonPath;
use crate::kubernetes::object::ObjectRef;
use crate::model::overrides::ObjectSelector;

/// Most bytes of one reported value.
pub const MAX_FEEDBACK_BYTES: usize = 1_024;
/// Most values reported per object; configured ones come first.
const MAX_VALUES: usize = 32;

/// Reports a value of some objects under a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRule {
    /// Of which objects; empty for all.
    #[serde(default)]
    pub object: ObjectSelector,
    /// The name of the value.
    pub name: String,
    /// Its path: a JSON pointer or simple JSONPath ([`crate::kubernetes::json_path`]).
    pub path: String,
}

/// One reported value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// Its name, such as `ReadyReplicas`.
    pub name: String,
    /// The value: a text, a number, a boolean, or any JSON. Null if there is a problem.
    pub value: Value,
    /// Why there is no value; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

/// Well-known values: kind, name, path.
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

/// The values to report of a live object: those of the rules, then the well-known ones of its kind that it has.
pub fn collect_feedback(rules: &[FeedbackRule], object: &ObjectRef, live: &Value) -> Vec<Feedback> {
    let configured =
        rules.iter().filter(|rule| rule.object.matches_ref(object)).map(|rule| evaluate_rule(rule, live));
    let known = WELL_KNOWN.iter().filter(|(kind, ..)| *kind == object.kind).filter_map(|(_, name, path)| {
        let pick: JsonPath = path.parse().ok()?;
        Some(limit_size(name, (*pick.select_values(live).first()?).clone()))
    });
    configured.chain(known).take(MAX_VALUES).collect()
}

fn evaluate_rule(rule: &FeedbackRule, live: &Value) -> Feedback {
    let problem = |problem: String| Feedback { name: rule.name.clone(), value: Value::Null, problem };
    let pick: JsonPath = match rule.path.parse() {
        Ok(pick) => pick,
        Err(bad) => return problem(format!("{bad}.")),
    };
    match pick.select_values(live).as_slice() {
        [] => problem(format!("There is no value at {} yet.", rule.path)),
        [one] => limit_size(&rule.name, (*one).clone()),
        many => limit_size(&rule.name, Value::Array(many.iter().map(|value| (*value).clone()).collect())),
    }
}

/// Replaces a value over the limit by a problem: a truncated value would look complete.
fn limit_size(name: &str, value: Value) -> Feedback {
    let bytes = match &value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    let (value, problem) = if bytes > MAX_FEEDBACK_BYTES {
        (Value::Null, format!("The value has {bytes} bytes; at most {MAX_FEEDBACK_BYTES} are reported."))
    } else {
        (value, String::new())
    };
    Feedback { name: name.to_owned(), value, problem }
}
