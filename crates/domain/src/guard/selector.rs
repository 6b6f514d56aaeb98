//! Selectors against the labels of the pods they should find (G214).

use serde_json::Value;

use super::scene::{Pod, Scene, items, quoted};
use crate::finding::Finding;
use crate::labels::{Labels, Selector, Term};

/// G214: the selector of a workload matches its own pods.
pub(super) fn selectors(scene: &Scene<'_>) -> Vec<Finding> {
    let apps = scene.pods.iter().filter(|pod| pod.owner.name.group == "apps");
    apps.filter_map(check).collect()
}

fn check(pod: &Pod<'_>) -> Option<Finding> {
    let path = "/spec/selector";
    let labels = labels(pod);
    let Some(selector) = selector(pod.owner.get(path)).filter(|selector| !selector.is_empty()) else {
        let message = format!("{} has no selector, so it could not find its own pods.", pod.owner.shown);
        let hint = match labels.iter().next() {
            Some((key, value)) => format!("Add spec.selector.matchLabels with \"{key}: {value}\"."),
            None => "Add spec.selector.matchLabels, and the same labels to the pod template.".to_owned(),
        };
        return Some(pod.owner.error("G214", path, message, &hint));
    };
    let missed: Vec<&Term> = selector.terms.iter().filter(|term| !term.matches(&labels)).collect();
    let first = missed.first()?;
    let seen = labels
        .get(first.key())
        .map_or_else(|| format!("no label {}", first.key()), |value| format!("{}={value}", first.key()));
    let message = format!(
        "{}: selector {} is not among its pod labels ({}). Kubernetes will refuse it.",
        pod.owner.shown,
        clipped(&first.to_string()),
        clipped(&seen)
    );
    let at = format!("{path}/matchLabels/{}", first.key().replace('~', "~0").replace('/', "~1"));
    Some(pod.owner.error("G214", &at, message, "Give the pod template the labels of the selector."))
}

/// The labels of a pod.
pub(super) fn labels(pod: &Pod<'_>) -> Labels {
    let map = pod.labels.and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

/// A label selector of the API as terms; `None` when there is none.
pub(super) fn selector(value: Option<&Value>) -> Option<Selector> {
    let value = value?;
    let mut terms = Vec::new();
    for (key, value) in value["matchLabels"].as_object().into_iter().flatten() {
        terms.push(Term::In(key.clone(), vec![text(value)]));
    }
    for expression in items(value.get("matchExpressions")) {
        let key = text(&expression["key"]);
        let values = items(expression.get("values")).iter().map(text).collect();
        match expression["operator"].as_str() {
            Some("In") => terms.push(Term::In(key, values)),
            Some("NotIn") => terms.push(Term::NotIn(key, values)),
            Some("Exists") => terms.push(Term::Exists(key)),
            Some("DoesNotExist") => terms.push(Term::Absent(key)),
            _ => {}
        }
    }
    Some(Selector { terms })
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn clipped(text: &str) -> String {
    let shown = quoted(text);
    shown[1..shown.len() - 1].to_owned()
}
