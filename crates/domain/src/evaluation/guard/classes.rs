//! Storage and ingress classes that do not exist on a cluster (G306).

use serde_json::Value;

use super::cluster_context::ClusterContext;
use super::rule_context::{RuleContext, RuleObject, items, quote};
use crate::text::finding::Finding;

/// The classes of one kind on a cluster.
struct ClusterClasses<'a> {
    kind: &'static str,
    available: &'a [String],
    default: &'a str,
}

/// G306: storage classes of claims.
pub(super) fn storage(context: &ClusterContext<'_>) -> Vec<Finding> {
    let facts = &context.cluster.facts;
    let classes = ClusterClasses {
        kind: "StorageClass",
        available: &facts.storage_classes,
        default: &facts.default_storage_class,
    };
    let mut findings = Vec::new();
    for object in context.rule_context.objects_of_kind("", "PersistentVolumeClaim") {
        findings.extend(check_claim(&classes, context.rule_context, object, (&object.manifest.object, "")));
    }
    for object in context.rule_context.objects_of_kind("apps", "StatefulSet") {
        for (at, template) in items(object.get("/spec/volumeClaimTemplates")).iter().enumerate() {
            let path = format!("/spec/volumeClaimTemplates/{at}");
            findings.extend(check_claim(&classes, context.rule_context, object, (template, &path)));
        }
    }
    findings
}

fn check_claim(
    classes: &ClusterClasses<'_>,
    context: &RuleContext<'_>,
    object: &RuleObject<'_>,
    (claim, path): (&Value, &str),
) -> Option<Finding> {
    // A claim with a volumeName needs no class. An empty class name means no class.
    if claim.pointer("/spec/volumeName").is_some() {
        return None;
    }
    let named = claim.pointer("/spec/storageClassName").and_then(Value::as_str);
    let in_workload = |name: &str| {
        context.objects_of_kind("storage.k8s.io", "StorageClass").any(|class| class.name.name == name)
    };
    missing_class(classes, object, (named, &format!("{path}/spec/storageClassName")), in_workload)
}

/// G306: ingress classes.
pub(super) fn ingress(context: &ClusterContext<'_>) -> Vec<Finding> {
    let facts = &context.cluster.facts;
    let classes = ClusterClasses {
        kind: "IngressClass",
        available: &facts.ingress_classes,
        default: &facts.default_ingress_class,
    };
    let in_workload = |name: &str| {
        context
            .rule_context
            .objects_of_kind("networking.k8s.io", "IngressClass")
            .any(|class| class.name.name == name)
    };
    let check = |object: &RuleObject<'_>| {
        // Older controllers are selected by this annotation instead of a class.
        let annotated = object.get("/metadata/annotations/kubernetes.io~1ingress.class").is_some();
        let named = object.get("/spec/ingressClassName").and_then(Value::as_str);
        if annotated && named.is_none() {
            return None;
        }
        missing_class(&classes, object, (named, "/spec/ingressClassName"), in_workload)
    };
    context.rule_context.objects_of_kind("networking.k8s.io", "Ingress").filter_map(check).collect()
}

fn missing_class(
    classes: &ClusterClasses<'_>,
    object: &RuleObject<'_>,
    (named, path): (Option<&str>, &str),
    in_workload: impl Fn(&str) -> bool,
) -> Option<Finding> {
    // An empty list may also mean that the agent has no permission to list them.
    if classes.available.is_empty() {
        return None;
    }
    let word = classes.kind;
    let available = classes.available.join(", ");
    match named {
        Some("") => None,
        Some(name) if classes.available.iter().any(|class| class == name) || in_workload(name) => None,
        Some(name) => {
            let message =
                format!("{} uses {word} {}, which does not exist.", object.display_name, quote(name));
            let hint = format!("Available are {available}. Add an override for these clusters.");
            Some(object.warning("G306", path, message, &hint))
        }
        None if classes.default.is_empty() => {
            let message = format!("{} sets no {word}, and there is no default.", object.display_name);
            let hint = format!("Set one of {available}, or mark one as the default.");
            Some(object.warning("G306", path, message, &hint))
        }
        None => None,
    }
}
