//! Feedback: values of live objects that agents report, configured ones and well-known ones.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubernetes::json_path::JsonPath;
use crate::kubernetes::object::ObjectRef;
use crate::model::overrides::ObjectSelector;
use crate::text::secret_text::hide_values;

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

/// The values to report of a live object: those of the rules, then the well-known ones of its kind that it has. Everybody reads them, and a
/// rule may name any field: values of Secrets are hidden.
pub fn collect_feedback(rules: &[FeedbackRule], object: &ObjectRef, live: &Value) -> Vec<Feedback> {
    let matching: Vec<&FeedbackRule> = rules.iter().filter(|rule| rule.object.matches_ref(object)).collect();
    let shown = if matching.is_empty() { Value::Null } else { hide_secrets(object, live) };
    let configured = matching.into_iter().map(|rule| evaluate_rule(rule, &shown));
    let known = WELL_KNOWN.iter().filter(|(kind, ..)| *kind == object.kind).filter_map(|(_, name, path)| {
        let pick: JsonPath = path.parse().ok()?;
        Some(limit_size(name, (*pick.select_values(live).first()?).clone()))
    });
    configured.chain(known).take(MAX_VALUES).collect()
}

/// The live object without values of Secrets. Its kind is known, whether the object has it or not.
fn hide_secrets(object: &ObjectRef, live: &Value) -> Value {
    let mut shown = live.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("kind".to_owned(), object.kind.as_str().into());
    }
    hide_values(&shown)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_reports_no_value_of_a_secret_wherever_it_stands() {
        let rule = |path: &str| FeedbackRule { path: path.to_owned(), ..FeedbackRule::default() };
        let rules = [rule("/data/token"), rule("/data"), rule("$.data.token"), rule("/metadata/name")];
        let kind = |kind: &str| ObjectRef { kind: kind.to_owned(), ..ObjectRef::default() };
        // As in a list of the API server, whose items have no kind.
        let secret = json!({"metadata": {"name": "robot"}, "data": {"token": "Y2FuYXJ5"}});
        let reported = collect_feedback(&rules, &kind("Secret"), &secret);
        let text = serde_json::to_string(&reported).unwrap();
        assert!(!text.contains("Y2FuYXJ5") && text.contains("(hidden)"), "{text}");
        assert_eq!(reported[3].value, "robot");
        let manifest = "kind: Secret\nstringData: {a: canary}";
        let settings = json!({"data": {"all.yaml": manifest, "key": "value"}});
        let reported = collect_feedback(&[rule("/data")], &kind("ConfigMap"), &settings);
        assert_eq!(reported[0].value, json!({"all.yaml": "(hidden)", "key": "value"}));
    }
}
