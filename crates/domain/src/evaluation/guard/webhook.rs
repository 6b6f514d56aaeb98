//! Admission webhooks that block the pods that serve them (G311).

use serde_json::Value;

use super::rule_context::{PodTemplate, RuleContext, RuleObject, items, quote};
use super::selector::{self, parse_selector};
use crate::kubernetes::labels::{LabelSelector, Labels};
use crate::text::finding::Finding;

const GROUP: &str = "admissionregistration.k8s.io";
/// The label that has the name of the namespace as its value; Kubernetes sets it on every namespace.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// G311: a webhook whose own pods can only be created while it is available.
pub(super) fn deadlocks(context: &RuleContext<'_>) -> Vec<Finding> {
    let kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
    let mut findings = Vec::new();
    for configuration in kinds.into_iter().flat_map(|kind| context.objects_of_kind(GROUP, kind)) {
        for (at, webhook) in configuration.items("/webhooks").iter().enumerate() {
            findings.extend(deadlock(context, configuration, (at, webhook)));
        }
    }
    findings
}

fn deadlock<'a>(
    context: &RuleContext<'a>,
    configuration: &'a RuleObject<'a>,
    (at, webhook): (usize, &'a Value),
) -> Option<Finding> {
    // In v1 the default of failurePolicy is Fail.
    let fails = webhook["failurePolicy"].as_str().unwrap_or("Fail") == "Fail";
    let (namespace, name) = (service_field(webhook, "namespace"), service_field(webhook, "name"));
    let service = context
        .objects_of_kind("", "Service")
        .find(|service| service.name.name == name && service.name.namespace == namespace)?;
    if !fails || !has_pod_rule(webhook) || !is_namespace_selected(context, webhook, namespace) {
        return None;
    }
    let pods = context.select_pods(service, service.get("/spec/selector")?);
    let blocked = pods.into_iter().find(|pod| is_pod_selected(webhook, pod))?;
    let message = format!(
        "Webhook {} of {} is called before a pod of {} can be created, and these pods serve the webhook: if none of them runs, none can be created.",
        quote(webhook["name"].as_str().unwrap_or_default()),
        configuration.display_name,
        blocked.owner.display_name
    );
    let hint = format!(
        "Exclude namespace {namespace:?} with namespaceSelector ({NAMESPACE_NAME_LABEL} NotIn [{namespace}]), or write \"failurePolicy: Ignore\"."
    );
    Some(configuration.warning("G311", &format!("/webhooks/{at}"), message, &hint))
}

fn service_field<'a>(webhook: &'a Value, field: &str) -> &'a str {
    webhook["clientConfig"]["service"][field].as_str().unwrap_or_default()
}

fn has_pod_rule(webhook: &Value) -> bool {
    let has = |rule: &Value, field: &str, values: &[&str]| {
        items(rule.get(field)).iter().filter_map(Value::as_str).any(|value| values.contains(&value))
    };
    items(webhook.get("rules")).iter().any(|rule| {
        has(rule, "operations", &["CREATE", "*"])
            && has(rule, "apiGroups", &["", "*"])
            && has(rule, "resources", &["pods", "*", "*/*"])
    })
}

/// Whether the webhook is called for objects of this namespace. `false` if that depends on labels that are not known.
fn is_namespace_selected(context: &RuleContext<'_>, webhook: &Value, namespace: &str) -> bool {
    let Some(selector) =
        parse_selector(webhook.get("namespaceSelector")).filter(|selector| !selector.is_empty())
    else {
        return true;
    };
    let declared = context.objects_of_kind("", "Namespace").find(|object| object.name.name == namespace);
    if declared.is_none() && selector.terms.iter().any(|term| term.key() != NAMESPACE_NAME_LABEL) {
        return false;
    }
    let own = declared.and_then(|object| object.get("/metadata/labels")).and_then(Value::as_object);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut labels: Labels =
        own.into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect();
    labels.insert(NAMESPACE_NAME_LABEL.to_owned(), namespace.to_owned());
    selector.matches(&labels)
}

fn is_pod_selected(webhook: &Value, pod: &PodTemplate<'_>) -> bool {
    let object_selector: Option<LabelSelector> = parse_selector(webhook.get("objectSelector"));
    object_selector.is_none_or(|selector| selector.matches(&selector::pod_labels(pod)))
}
