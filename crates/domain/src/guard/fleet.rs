//! What the chosen clusters' facts say (G401, G402, G411, G501).
//!
//! Every kind is asked once per cluster, and what is said names all clusters it is true of.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::removed;
use super::scene::items;
use crate::cluster::facts::minor_version;
use crate::cluster::{Cluster, Reach};
use crate::finding::{Finding, Severity};
use crate::manifest::{Manifest, Parsed};

/// Group, version and kind.
type Kind = (String, String, String);

/// Everything that the chosen clusters' facts say.
pub(super) fn check(parsed: &Parsed, chosen: &[&Cluster]) -> Vec<Finding> {
    if chosen.is_empty() {
        return vec![nothing_chosen()];
    }
    let defined = defined_here(parsed);
    let mut findings = Vec::new();
    for (kind, manifests) in by_kind(parsed) {
        if defined.contains(&kind) {
            continue;
        }
        for (verdict, clusters) in verdicts(&kind, chosen) {
            findings
                .extend(manifests.iter().map(|manifest| said(verdict, &kind, manifest).on(clusters.clone())));
        }
    }
    findings.extend(unknown(chosen));
    findings.extend(offline(chosen));
    findings
}

fn nothing_chosen() -> Finding {
    Finding::error(
        "G501",
        "The placement selects no cluster, so nothing would run anywhere.",
        "Name a cluster or a group, or loosen the labels; the placement page says for every cluster why it is not chosen.",
    )
}

/// What is said instead while there is no cluster at all: loosening the placement would not help (S3-15).
pub fn empty_fleet() -> Finding {
    Finding::error(
        "G501",
        "No cluster is registered yet, so nothing can run anywhere.",
        "Register a cluster first; the page Clusters says how. The draft is kept meanwhile.",
    )
}

fn by_kind(parsed: &Parsed) -> BTreeMap<Kind, Vec<&Manifest>> {
    let mut kinds: BTreeMap<Kind, Vec<&Manifest>> = BTreeMap::new();
    for manifest in &parsed.manifests {
        let name = manifest.object_ref();
        kinds.entry((name.group, name.version, name.kind)).or_default().push(manifest);
    }
    kinds
}

/// The kinds that definitions in this workload bring along; they are applied first (P15).
fn defined_here(parsed: &Parsed) -> HashSet<Kind> {
    let definitions =
        parsed.manifests.iter().filter(|manifest| manifest.object["kind"] == "CustomResourceDefinition");
    let mut kinds = HashSet::new();
    for definition in definitions {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let group = text(definition.object.pointer("/spec/group"));
        let kind = text(definition.object.pointer("/spec/names/kind"));
        for version in items(definition.object.pointer("/spec/versions")) {
            if version["served"] != false {
                kinds.insert((group.clone(), text(version.get("name")), kind.clone()));
            }
        }
    }
    kinds
}

/// What is to be said of one kind on one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    NotServed,
    Removed,
    /// Served still, and no longer after an upgrade.
    Going(u32),
    TooNew(u32),
}

fn verdicts(kind: &Kind, chosen: &[&Cluster]) -> BTreeMap<Verdict, Vec<String>> {
    let mut verdicts: BTreeMap<Verdict, Vec<String>> = BTreeMap::new();
    for cluster in chosen {
        if let Some(verdict) = verdict(kind, cluster) {
            verdicts.entry(verdict).or_default().push(cluster.name.clone());
        }
    }
    for clusters in verdicts.values_mut() {
        clusters.sort();
        clusters.dedup();
    }
    verdicts
}

fn verdict((group, version, kind): &Kind, cluster: &Cluster) -> Option<Verdict> {
    let change = removed::removal(group, version, kind);
    let runs = minor_version(&cluster.facts.kubernetes_version);
    let too_new = removed::added(group, version, kind).filter(|added| runs.is_some_and(|runs| runs < *added));
    let going = change.filter(|change| runs.is_some_and(|runs| runs < change.removed));
    match cluster.facts.serves(group, version, kind) {
        Some(true) => going.map(|change| Verdict::Going(change.removed)),
        // The kinds decide; the table only tells why.
        Some(false) if change.is_some_and(|change| runs.is_none_or(|runs| runs >= change.removed)) => {
            Some(Verdict::Removed)
        }
        Some(false) => Some(too_new.map_or(Verdict::NotServed, Verdict::TooNew)),
        None if change.is_some_and(|change| runs.is_some_and(|runs| runs >= change.removed)) => {
            Some(Verdict::Removed)
        }
        None => too_new.map(Verdict::TooNew).or(going.map(|change| Verdict::Going(change.removed))),
    }
}

fn said(verdict: Verdict, (group, version, kind): &Kind, manifest: &Manifest) -> Finding {
    let name = manifest.object_ref();
    let full = format!("{} {kind}", name.api_version());
    let finding = match (verdict, removed::removal(group, version, kind)) {
        (Verdict::Removed, Some(change)) => Finding::error(
            "G402",
            format!(
                "{full} was removed in Kubernetes 1.{}, and these clusters run that or newer; they would refuse {name}.",
                change.removed
            ),
            change.instead,
        )
        .mended(removed::renamed(manifest)),
        (Verdict::Going(removed), Some(change)) => Finding::new(
            "G402",
            Severity::Note,
            format!("{full} is gone with Kubernetes 1.{removed}; these clusters take {name} until they are upgraded."),
            change.instead,
        )
        .mended(removed::renamed(manifest)),
        (Verdict::TooNew(added), _) => Finding::error(
            "G402",
            format!(
                "{full} came with Kubernetes 1.{added}, and these clusters run an older one; they would refuse {name}."
            ),
            "Upgrade these clusters, or leave them out of the placement.",
        ),
        _ => Finding::error(
            "G401",
            format!("These clusters do not know {full}, so they would refuse {name}."),
            "Install what defines this kind there, add its CustomResourceDefinition to this workload, or leave these clusters out.",
        ),
    };
    finding.about(name.to_string()).at("/apiVersion").placed(Some(manifest.place_of("/apiVersion")))
}

fn names(clusters: impl Iterator<Item = impl AsRef<str>>) -> Vec<String> {
    let mut names: Vec<String> = clusters.map(|name| name.as_ref().to_owned()).collect();
    names.sort();
    names
}

/// Clusters of which not even the version is known.
fn unknown(chosen: &[&Cluster]) -> Option<Finding> {
    let silent = chosen.iter().filter(|cluster| {
        cluster.facts.apis.is_empty() && minor_version(&cluster.facts.kubernetes_version).is_none()
    });
    let clusters = names(silent.map(|cluster| &cluster.name));
    (!clusters.is_empty()).then(|| {
        let message = "Nothing is known of these clusters yet, so it could not be checked whether they know every kind.";
        Finding::warning("G401", message, "Wait for their first report, or publish and watch them.").on(clusters)
    })
}

/// G411: clusters that cannot be reached now.
fn offline(chosen: &[&Cluster]) -> Option<Finding> {
    let clusters =
        names(chosen.iter().filter(|cluster| cluster.reach == Reach::Offline).map(|cluster| &cluster.name));
    (!clusters.is_empty()).then(|| {
        let message = "These clusters are offline. They catch up when they return, and hold nobody else up.";
        Finding::warning(
            "G411",
            message,
            "Nothing needs to be done; leave them out of the placement if they are gone for good.",
        )
        .on(clusters)
    })
}
