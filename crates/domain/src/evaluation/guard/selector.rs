//! Selectors of workload objects and the labels of their pods (G214).

use serde_json::Value;

use super::rule_context::{PodTemplate, RuleContext, items, quote};
use crate::kubernetes::field_path::escape_pointer_token;
use crate::kubernetes::labels::{LabelSelector, LabelTerm, Labels};
use crate::text::finding::Finding;

/// G214: the selector of a workload matches its own pods.
pub(super) fn selectors(context: &RuleContext<'_>) -> Vec<Finding> {
    let apps = context.pods.iter().filter(|pod| pod.owner.name.group == "apps");
    apps.filter_map(check).collect()
}

fn check(pod: &PodTemplate<'_>) -> Option<Finding> {
    let path = "/spec/selector";
    let labels = pod_labels(pod);
    let Some(selector) = parse_selector(pod.owner.get(path)).filter(|selector| !selector.is_empty()) else {
        let message = format!("{} has no selector, so it can't find its own pods.", pod.owner.display_name);
        let hint = match labels.iter().next() {
            Some((key, value)) => format!("Add spec.selector.matchLabels with \"{key}: {value}\"."),
            None => "Add spec.selector.matchLabels, and the same labels to the pod template.".to_owned(),
        };
        return Some(pod.owner.error("G214", path, message, &hint));
    };
    let unmatched: Vec<&LabelTerm> = selector.terms.iter().filter(|term| !term.matches(&labels)).collect();
    let first = unmatched.first()?;
    let actual = labels
        .get(first.key())
        .map_or_else(|| format!("no label {}", first.key()), |value| format!("{}={value}", first.key()));
    let message = format!(
        "{}: selector {} is not among its pod labels ({}). Kubernetes will reject it.",
        pod.owner.display_name,
        truncate(&first.to_string()),
        truncate(&actual)
    );
    let at = format!("{path}/matchLabels/{}", escape_pointer_token(first.key()));
    Some(pod.owner.error("G214", &at, message, "Give the pod template the labels of the selector."))
}

/// The labels of a pod.
pub(super) fn pod_labels(pod: &PodTemplate<'_>) -> Labels {
    let map = pod.labels.and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

/// Parses a label selector of the Kubernetes API; `None` if there is none.
pub(super) fn parse_selector(value: Option<&Value>) -> Option<LabelSelector> {
    let value = value?;
    let mut terms = Vec::new();
    for (key, value) in value["matchLabels"].as_object().into_iter().flatten() {
        terms.push(LabelTerm::In(key.clone(), vec![text(value)]));
    }
    for expression in items(value.get("matchExpressions")) {
        let key = text(&expression["key"]);
        let values = items(expression.get("values")).iter().map(text).collect();
        match expression["operator"].as_str() {
            Some("In") => terms.push(LabelTerm::In(key, values)),
            Some("NotIn") => terms.push(LabelTerm::NotIn(key, values)),
            Some("Exists") => terms.push(LabelTerm::Exists(key)),
            Some("DoesNotExist") => terms.push(LabelTerm::DoesNotExist(key)),
            _ => {}
        }
    }
    Some(LabelSelector { terms })
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn truncate(text: &str) -> String {
    let shown = quote(text);
    shown[1..shown.len() - 1].to_owned()
}
