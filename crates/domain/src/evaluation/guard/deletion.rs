//! Data that is lost when a workload is removed from a cluster, or an object from the workload (G516).

use std::collections::HashSet;

use serde_json::Value;

use super::rule_context::{RuleContext, RuleObject, items, quote};
use crate::text::finding::Finding;

/// G516: claims whose data is deleted with them, and objects whose deletion waits for a finalizer.
pub(super) fn losses(context: &RuleContext<'_>) -> Vec<Finding> {
    let policies = &context.spec.policies;
    let deleted =
        context.objects.iter().filter(|object| !policies.should_orphan(policies.deletion, &object.name));
    deleted
        .flat_map(|object| {
            deleted_claim(object).into_iter().chain(deleted_claim_templates(object)).chain(finalizers(object))
        })
        .collect()
}

const RETAIN_HINT: &str = "To retain it, set the deletion policy selectivelyOrphan and list it under orphan.";

fn deleted_claim(object: &RuleObject<'_>) -> Option<Finding> {
    object.is_kind("", "PersistentVolumeClaim").then(|| {
        let message = format!(
            "When this workload is removed from a cluster, {}{} is deleted there with all its data.",
            object.display_name,
            format_size(object.get("/spec/resources/requests/storage"))
        );
        object.warning("G516", "", message, RETAIN_HINT)
    })
}

/// By default, a StatefulSet does not delete the claims that it created.
fn deleted_claim_templates(object: &RuleObject<'_>) -> Option<Finding> {
    let path = "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted";
    let templates = object.items("/spec/volumeClaimTemplates");
    let deletes = object.is_kind("apps", "StatefulSet") && object.text(path) == "Delete";
    let first = templates.first().filter(|_| deletes)?;
    let message = format!(
        "When this workload is removed from a cluster, {} deletes its claims {}{} with all their data.",
        object.display_name,
        quote(first.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()),
        format_size(first.pointer("/spec/resources/requests/storage"))
    );
    Some(object.warning("G516", path, message, "Write \"whenDeleted: Retain\" to retain them."))
}

fn finalizers(object: &RuleObject<'_>) -> Option<Finding> {
    let path = "/metadata/finalizers";
    let names: Vec<&str> = object.items(path).iter().filter_map(Value::as_str).collect();
    let first = names.first()?;
    let message = format!(
        "{} has the finalizer {}: it can't be deleted from a cluster until that finalizer is removed there.",
        object.display_name,
        quote(first)
    );
    let hint = "Leave finalizers to the controller that handles them.";
    Some(object.warning("G516", path, message, hint))
}

fn format_size(storage: Option<&Value>) -> String {
    match storage.and_then(crate::kubernetes::quantity::Quantity::from_json) {
        Some(amount) => format!(" ({})", amount.format_bytes()),
        None => String::new(),
    }
}

/// G516: objects with data that the published revision contains and the draft does not, and that are pruned.
pub(super) fn pruned_data(published: &RuleContext<'_>, draft: &RuleContext<'_>) -> Vec<Finding> {
    if !draft.spec.policies.prune {
        return Vec::new();
    }
    let policies = &draft.spec.policies;
    let names = |object: &RuleObject<'_>| {
        (object.name.kind.clone(), object.name.namespace.clone(), object.name.name.clone())
    };
    let remaining: HashSet<_> = draft.objects.iter().map(names).collect();
    let removed = published.objects.iter().filter(|object| !remaining.contains(&names(object)));
    let deleted = removed.filter(|object| !policies.should_orphan(policies.deletion, &object.name));
    let with_data = deleted.filter(|object| {
        let retention = object.text("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted");
        let deletes_claims =
            retention == "Delete" && !items(object.get("/spec/volumeClaimTemplates")).is_empty();
        object.is_kind("", "PersistentVolumeClaim") || object.is_kind("apps", "StatefulSet") && deletes_claims
    });
    let finding = |object: &RuleObject<'_>| {
        let message = format!(
            "{} is in the published revision and not in the draft: publishing deletes it with all its data.",
            object.display_name
        );
        let hint = format!("Add it again, or turn the policy prune off. {RETAIN_HINT}");
        Finding::warning("G516", message, hint).with_object(object.display_name.as_str())
    };
    with_data.map(finding).collect()
}
