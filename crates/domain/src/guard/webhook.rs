//! Admission webhooks that would lock out the pods that answer them (G311).

use serde_json::Value;

use super::scene::{Pod, Scene, Subject, items, quoted};
use super::selector::{self, selector};
use crate::finding::Finding;
use crate::labels::{Labels, Selector};

const GROUP: &str = "admissionregistration.k8s.io";
/// Every namespace has its name as this label.
const NAME: &str = "kubernetes.io/metadata.name";

/// G311: a webhook that must answer before its own pods can be made.
pub(super) fn lock_outs(scene: &Scene<'_>) -> Vec<Finding> {
    let kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
    let mut findings = Vec::new();
    for configuration in kinds.into_iter().flat_map(|kind| scene.of(GROUP, kind)) {
        for (at, webhook) in configuration.items("/webhooks").iter().enumerate() {
            findings.extend(lock_out(scene, configuration, (at, webhook)));
        }
    }
    findings
}

fn lock_out<'a>(
    scene: &Scene<'a>,
    configuration: &'a Subject<'a>,
    (at, webhook): (usize, &'a Value),
) -> Option<Finding> {
    // In v1 a webhook without a policy fails closed.
    let fails = webhook["failurePolicy"].as_str().unwrap_or("Fail") == "Fail";
    let (namespace, name) = (text(webhook, "namespace"), text(webhook, "name"));
    let service = scene
        .of("", "Service")
        .find(|service| service.name.name == name && service.name.namespace == namespace)?;
    if !fails || !is_asked_about_pods(webhook) || !covers(scene, webhook, namespace) {
        return None;
    }
    let answers = scene.selected(service, service.get("/spec/selector")?);
    let locked = answers.into_iter().find(|pod| is_meant(webhook, pod))?;
    let message = format!(
        "Webhook {} of {} must answer before a pod of {} can start, and those are the pods that answer it: once they are all gone, none comes back.",
        quoted(webhook["name"].as_str().unwrap_or_default()),
        configuration.shown,
        locked.owner.shown
    );
    let hint = format!(
        "Leave namespace {namespace:?} out with namespaceSelector ({NAME} NotIn [{namespace}]), or write \"failurePolicy: Ignore\"."
    );
    Some(configuration.warning("G311", &format!("/webhooks/{at}"), message, &hint))
}

fn text<'a>(webhook: &'a Value, field: &str) -> &'a str {
    webhook["clientConfig"]["service"][field].as_str().unwrap_or_default()
}

fn is_asked_about_pods(webhook: &Value) -> bool {
    let has = |rule: &Value, field: &str, known: &[&str]| {
        items(rule.get(field)).iter().filter_map(Value::as_str).any(|one| known.contains(&one))
    };
    items(webhook.get("rules")).iter().any(|rule| {
        has(rule, "operations", &["CREATE", "*"])
            && has(rule, "apiGroups", &["", "*"])
            && has(rule, "resources", &["pods", "*", "*/*"])
    })
}

/// Whether the webhook is asked about objects of this namespace. Labels that nobody here knows leave it open, and then
/// nothing is said.
fn covers(scene: &Scene<'_>, webhook: &Value, namespace: &str) -> bool {
    let Some(selector) = selector(webhook.get("namespaceSelector")).filter(|wanted| !wanted.is_empty())
    else {
        return true;
    };
    let made = scene.of("", "Namespace").find(|one| one.name.name == namespace);
    if made.is_none() && selector.terms.iter().any(|term| term.key() != NAME) {
        return false;
    }
    let own = made.and_then(|made| made.get("/metadata/labels")).and_then(Value::as_object);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut labels: Labels =
        own.into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect();
    labels.insert(NAME.to_owned(), namespace.to_owned());
    selector.matches(&labels)
}

fn is_meant(webhook: &Value, pod: &Pod<'_>) -> bool {
    let wanted: Option<Selector> = selector(webhook.get("objectSelector"));
    wanted.is_none_or(|wanted| wanted.matches(&selector::labels(pod)))
}
