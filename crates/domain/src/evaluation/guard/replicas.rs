//! Replicas, grace periods, and the Service of a StatefulSet (G213, G223).

use super::rule_context::{RuleContext, integer, quote};
use crate::text::finding::Finding;

/// G213: replicas is a whole number; 0 is a warning.
pub(super) fn replicas(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = "/spec/replicas";
    for object in context.pods.iter().map(|pod| pod.owner) {
        let Some(value) = object.get(path) else { continue };
        if value.as_i64().is_none_or(|replicas| replicas < 0) {
            let message = format!(
                "replicas: {} is not allowed; it must be a whole number, 0 or more.",
                quote(&value.to_string())
            );
            findings.push(object.error("G213", path, message, "Write a number without quotes, such as 3."));
        } else if value == 0 {
            let message = "replicas is 0: it is applied, but nothing runs.".to_owned();
            findings.push(object.warning("G213", path, message, "Set at least 1, unless this is intended."));
        }
    }
    findings
}

/// G223: a grace period is not negative.
pub(super) fn grace_period(context: &RuleContext<'_>) -> Vec<Finding> {
    let negative = context.pods.iter().filter_map(|pod| {
        let seconds =
            integer(pod.spec.get("terminationGracePeriodSeconds")).filter(|seconds| *seconds < 0)?;
        let message = format!("terminationGracePeriodSeconds: {seconds} is negative; Kubernetes rejects it.");
        Some(pod.owner.error(
            "G223",
            &pod.spec_pointer("/terminationGracePeriodSeconds"),
            message,
            "Write 0 or more seconds.",
        ))
    });
    negative.collect()
}

/// G223: the Service of a StatefulSet, which provides the DNS names of its pods, exists and is headless.
pub(super) fn headless_service(context: &RuleContext<'_>) -> Vec<Finding> {
    let path = "/spec/serviceName";
    let mut findings = Vec::new();
    for set in context.objects_of_kind("apps", "StatefulSet") {
        let name = set.text(path);
        if name.is_empty() {
            continue;
        }
        let problem = match context.find_in_namespace(set, "Service", name) {
            None => "is not among these objects; without it the pods have no DNS names",
            Some(service) if service.text("/spec/clusterIP") != "None" => {
                "is not headless, so the pods have no DNS names of their own"
            }
            Some(_) => continue,
        };
        let message = format!("Service {} of this StatefulSet {problem}.", quote(name));
        findings.push(set.warning(
            "G223",
            path,
            message,
            "Add a Service of that name with \"clusterIP: None\".",
        ));
    }
    findings
}
