//! Checks against the facts of the selected clusters (G401, G402, G411, G501).
//!
//! Each kind is checked once per cluster; a finding lists all clusters that it applies to.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::api_versions;
use super::rule_context::items;
use crate::kubernetes::object::is_built_in_group;
use crate::model::cluster::facts::parse_minor_version;
use crate::model::cluster::{Cluster, Connectivity};
use crate::model::dependency::WorkloadDependency;
use crate::text::finding::{Finding, Severity};
use crate::text::manifest::{Manifest, ParsedManifests};

/// Group, version and kind.
type GroupVersionKind = (String, String, String);

/// The code of the finding that the placement selects no cluster.
pub const NO_CLUSTER_SELECTED: &str = "G501";

/// Runs all checks of this module.
pub(super) fn check(
    parsed: &ParsedManifests,
    dependencies: &[WorkloadDependency],
    selected: &[&Cluster],
) -> Vec<Finding> {
    if selected.is_empty() {
        return vec![no_cluster_selected()];
    }
    let defined = kinds_defined_in(parsed);
    let mut findings = Vec::new();
    for (kind, manifests) in manifests_by_kind(parsed) {
        if defined.contains(&kind) {
            continue;
        }
        for (issue, clusters) in api_issues(&kind, selected) {
            findings.extend(manifests.iter().map(|manifest| {
                let finding = issue_finding(issue, &kind, manifest);
                accept_later_kind(finding, issue, &kind, dependencies).with_clusters(clusters.clone())
            }));
        }
    }
    findings.extend(unreported_clusters(selected));
    findings.extend(offline_clusters(selected));
    findings
}

fn no_cluster_selected() -> Finding {
    Finding::error(
        NO_CLUSTER_SELECTED,
        "The placement selects no cluster, so nothing would run anywhere.",
        "Name a cluster or a group, or relax the label selector; the placement page shows for each cluster why it is not selected.",
    )
    .with_path("/placement")
}

/// The finding that replaces "selects no cluster" while no cluster is registered: a change of the placement would not
/// help (S3-15).
pub fn empty_fleet_finding() -> Finding {
    Finding::error(
        NO_CLUSTER_SELECTED,
        "No cluster is registered yet, so nothing can run anywhere.",
        "Register a cluster first; the Clusters page explains how. The draft stays saved.",
    )
    .with_path("/placement")
}

fn manifests_by_kind(parsed: &ParsedManifests) -> BTreeMap<GroupVersionKind, Vec<&Manifest>> {
    let mut kinds: BTreeMap<GroupVersionKind, Vec<&Manifest>> = BTreeMap::new();
    for manifest in &parsed.manifests {
        let name = manifest.object_ref();
        kinds.entry((name.group, name.version, name.kind)).or_default().push(manifest);
    }
    kinds
}

/// The kinds that CustomResourceDefinitions of this workload define; these are applied first (P15).
fn kinds_defined_in(parsed: &ParsedManifests) -> HashSet<GroupVersionKind> {
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

/// Why a cluster does not serve a kind, or will not after an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ApiIssue {
    NotServed,
    Removed,
    /// Still served; removed in this minor version.
    RemovedLater(u32),
    /// Not served before this minor version.
    AddedLater(u32),
}

fn api_issues(kind: &GroupVersionKind, selected: &[&Cluster]) -> BTreeMap<ApiIssue, Vec<String>> {
    let mut issues: BTreeMap<ApiIssue, Vec<String>> = BTreeMap::new();
    for cluster in selected {
        if let Some(issue) = api_issue(kind, cluster) {
            issues.entry(issue).or_default().push(cluster.name.clone());
        }
    }
    for clusters in issues.values_mut() {
        clusters.sort();
        clusters.dedup();
    }
    issues
}

fn api_issue((group, version, kind): &GroupVersionKind, cluster: &Cluster) -> Option<ApiIssue> {
    let removal = api_versions::find_removal(group, version, kind);
    let minor = parse_minor_version(&cluster.facts.kubernetes_version);
    let too_new = api_versions::added_in(group, version, kind)
        .filter(|added| minor.is_some_and(|minor| minor < *added));
    let later = removal.filter(|removal| minor.is_some_and(|minor| minor < removal.removed));
    match cluster.facts.serves(group, version, kind) {
        Some(true) => later.map(|removal| ApiIssue::RemovedLater(removal.removed)),
        // The served kinds decide; the table only provides the reason.
        Some(false) if removal.is_some_and(|removal| minor.is_none_or(|minor| minor >= removal.removed)) => {
            Some(ApiIssue::Removed)
        }
        Some(false) => Some(too_new.map_or(ApiIssue::NotServed, ApiIssue::AddedLater)),
        None if removal.is_some_and(|removal| minor.is_some_and(|minor| minor >= removal.removed)) => {
            Some(ApiIssue::Removed)
        }
        None => {
            too_new.map(ApiIssue::AddedLater).or(later.map(|removal| ApiIssue::RemovedLater(removal.removed)))
        }
    }
}

fn issue_finding(issue: ApiIssue, (group, version, kind): &GroupVersionKind, manifest: &Manifest) -> Finding {
    let name = manifest.object_ref();
    let full = format!("{} {kind}", name.api_version());
    let finding = match (issue, api_versions::find_removal(group, version, kind)) {
        (ApiIssue::Removed, Some(removal)) => Finding::error(
            api_versions::REMOVED_API_VERSION,
            format!(
                "{full} was removed in Kubernetes 1.{}, and these clusters run that version or a newer one; they would reject {name}.",
                removal.removed
            ),
            removal.replacement,
        )
        .with_fix(api_versions::api_version_fix(manifest)),
        (ApiIssue::RemovedLater(removed), Some(removal)) => Finding::new(
            api_versions::REMOVED_API_VERSION,
            Severity::Note,
            format!("{full} is removed in Kubernetes 1.{removed}; these clusters accept {name} until they are upgraded."),
            removal.replacement,
        )
        .with_fix(api_versions::api_version_fix(manifest)),
        (ApiIssue::AddedLater(added), _) => Finding::error(
            api_versions::REMOVED_API_VERSION,
            format!(
                "{full} was added in Kubernetes 1.{added}, and these clusters run an older version; they would reject {name}."
            ),
            "Upgrade these clusters, or exclude them from the placement.",
        ),
        _ => Finding::error(
            "G401",
            format!("These clusters do not serve {full}, so they would reject {name}."),
            "Install the API of this kind on these clusters, add its CustomResourceDefinition to this workload, or exclude these clusters.",
        ),
    };
    finding
        .with_object(name.to_string())
        .with_path("/apiVersion")
        .with_location(Some(manifest.location_of("/apiVersion")))
}

/// A kind that is not one of Kubernetes itself may be brought by a workload that this one depends on, which is operational on every
/// cluster before this one is delivered there: only a warning, because the agent checks it again before it applies.
fn accept_later_kind(
    finding: Finding,
    issue: ApiIssue,
    (group, version, kind): &GroupVersionKind,
    dependencies: &[WorkloadDependency],
) -> Finding {
    if issue != ApiIssue::NotServed || dependencies.is_empty() || is_built_in_group(group) {
        return finding;
    }
    let names: Vec<&str> = dependencies.iter().map(|one| &*one.workload).collect();
    let message = format!(
        "These clusters do not serve {group}/{version} {kind} yet. What the workload depends on is delivered there before and has to bring it: {}.",
        names.join(", ")
    );
    let hint =
        "No action is needed if one of the dependencies brings it; otherwise the agent waits for the kind.";
    Finding { severity: Severity::Warning, message, hint: hint.to_owned(), ..finding }
}

fn sorted_names(clusters: impl Iterator<Item = impl AsRef<str>>) -> Vec<String> {
    let mut names: Vec<String> = clusters.map(|name| name.as_ref().to_owned()).collect();
    names.sort();
    names
}

/// Clusters that have reported neither their version nor their APIs.
fn unreported_clusters(selected: &[&Cluster]) -> Option<Finding> {
    let unreported = selected.iter().filter(|cluster| {
        cluster.facts.apis.is_empty() && parse_minor_version(&cluster.facts.kubernetes_version).is_none()
    });
    let clusters = sorted_names(unreported.map(|cluster| &cluster.name));
    (!clusters.is_empty()).then(|| {
        let message = "These clusters have not reported their APIs yet, so it was not checked whether they serve every kind.";
        Finding::warning("G401", message, "Wait for their first report, or publish and check their status.").with_clusters(clusters)
    })
}

/// G411: clusters that are offline.
fn offline_clusters(selected: &[&Cluster]) -> Option<Finding> {
    let clusters = sorted_names(
        selected
            .iter()
            .filter(|cluster| cluster.connectivity == Connectivity::Offline)
            .map(|cluster| &cluster.name),
    );
    (!clusters.is_empty()).then(|| {
        let message = "These clusters are offline. They are updated when they reconnect; the other clusters do not wait for them.";
        Finding::warning(
            "G411",
            message,
            "No action is needed; exclude them from the placement if they no longer exist.",
        )
        .with_clusters(clusters)
    })
}
