//! What is lost when a workload leaves a cluster, or an object leaves the workload (G516).

use std::collections::HashSet;

use serde_json::Value;

use super::scene::{Scene, Subject, items, quoted};
use crate::finding::Finding;

/// G516: claims whose data goes with them, and objects that wait for somebody to let them go.
pub(super) fn losses(scene: &Scene<'_>) -> Vec<Finding> {
    let policies = &scene.spec.policies;
    let deleted = scene.objects.iter().filter(|one| !policies.orphans(policies.deletion, &one.name));
    deleted
        .flat_map(|subject| claim(subject).into_iter().chain(claims(subject)).chain(finalizers(subject)))
        .collect()
}

const KEEP: &str = "To keep it, use the deletion policy selectivelyOrphan and name it under orphan.";

fn claim(subject: &Subject<'_>) -> Option<Finding> {
    subject.is("", "PersistentVolumeClaim").then(|| {
        let message = format!(
            "When this workload leaves a cluster, {}{} is deleted there with all that is in it.",
            subject.shown,
            size(subject.get("/spec/resources/requests/storage"))
        );
        subject.warning("G516", "", message, KEEP)
    })
}

/// A StatefulSet leaves the claims that it made behind, unless it says otherwise.
fn claims(subject: &Subject<'_>) -> Option<Finding> {
    let path = "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted";
    let templates = subject.items("/spec/volumeClaimTemplates");
    let deletes = subject.is("apps", "StatefulSet") && subject.text(path) == "Delete";
    let first = templates.first().filter(|_| deletes)?;
    let message = format!(
        "When this workload leaves a cluster, {} takes its claims {}{} with it, and all that is in them.",
        subject.shown,
        quoted(first.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()),
        size(first.pointer("/spec/resources/requests/storage"))
    );
    Some(subject.warning("G516", path, message, "Write \"whenDeleted: Retain\" to keep them."))
}

fn finalizers(subject: &Subject<'_>) -> Option<Finding> {
    let path = "/metadata/finalizers";
    let names: Vec<&str> = subject.items(path).iter().filter_map(Value::as_str).collect();
    let first = names.first()?;
    let message = format!(
        "{} has the finalizer {}: it can't be removed from a cluster before somebody there takes that away.",
        subject.shown,
        quoted(first)
    );
    let hint = "Leave finalizers to the controller that handles them.";
    Some(subject.warning("G516", path, message, hint))
}

fn size(storage: Option<&Value>) -> String {
    match storage.and_then(crate::quantity::Quantity::of) {
        Some(amount) => format!(" ({})", amount.in_bytes()),
        None => String::new(),
    }
}

/// G516: what the published revision has and this one has not, and is pruned with its data.
pub(super) fn pruned(before: &Scene<'_>, now: &Scene<'_>) -> Vec<Finding> {
    if !now.spec.policies.prune {
        return Vec::new();
    }
    let policies = &now.spec.policies;
    let names = |subject: &Subject<'_>| {
        (subject.name.kind.clone(), subject.name.namespace.clone(), subject.name.name.clone())
    };
    let kept: HashSet<_> = now.objects.iter().map(names).collect();
    let gone = before.objects.iter().filter(|one| !kept.contains(&names(one)));
    let gone = gone.filter(|one| !policies.orphans(policies.deletion, &one.name));
    let lost = gone.filter(|one| {
        let retention = one.text("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted");
        let takes = retention == "Delete" && !items(one.get("/spec/volumeClaimTemplates")).is_empty();
        one.is("", "PersistentVolumeClaim") || one.is("apps", "StatefulSet") && takes
    });
    let said = |subject: &Subject<'_>| {
        let message = format!(
            "{} is in the published revision and no longer in this one: publishing deletes it with all its data.",
            subject.shown
        );
        let hint = format!("Put it back, or turn \"prune\" off. {KEEP}");
        Finding::warning("G516", message, hint).about(subject.shown.as_str())
    };
    lost.map(said).collect()
}
