//! Names of Helm releases that are in use on a cluster (G105, G106, S1-16).

use super::cluster_context::ClusterContext;
use crate::model::cluster::facts::MAX_NAMESPACES;
use crate::model::cluster::{ClusterFacts, Connectivity, HelmReleaseFacts};
use crate::model::policy::HelmReleasePolicy;
use crate::text::finding::{Finding, Severity};

/// The code of a release name that is in use on a cluster.
pub const RELEASE_NAME_IN_USE: &str = "G105";

/// G105: Helm or another tool has installed a release with this name in this namespace.
pub(super) fn names_in_use(context: &ClusterContext<'_>) -> Vec<Finding> {
    let Some(name) = release_name(context) else { return Vec::new() };
    let namespace = &context.spec.namespace;
    let releases = list_releases(&context.cluster.facts, namespace).unwrap_or_default();
    let is_other = |release: &&HelmReleaseFacts| release.name == name && release.workload != context.workload;
    let Some(found) = releases.iter().find(is_other) else { return Vec::new() };
    let owner = match found.workload.as_str() {
        "" => "not managed here".to_owned(),
        other => format!("of workload {other:?}"),
    };
    let text = format!(
        "Helm release {name:?} in namespace {namespace:?} exists already: revision {}, {}, {owner}",
        found.revision, found.status
    );
    let finding = if context.spec.policies.helm_release == HelmReleasePolicy::Adopt {
        let hint = "No action is needed: the policy helmRelease is adopt.";
        Finding::new(
            RELEASE_NAME_IN_USE,
            Severity::Note,
            format!("{text}. Its objects are taken over."),
            hint,
        )
    } else {
        let hint = "Choose another release name or namespace, or set the policy helmRelease to adopt to take over its objects.";
        Finding::error(RELEASE_NAME_IN_USE, format!("{text}."), hint)
    };
    vec![finding.with_path("/source/releaseName")]
}

/// G106: whether the name is in use can't be told now.
pub(super) fn unchecked_names(context: &ClusterContext<'_>) -> Vec<Finding> {
    let Some(name) = release_name(context) else { return Vec::new() };
    let cluster = context.cluster;
    let why = if cluster.connectivity == Connectivity::Offline {
        "the cluster is offline"
    } else if list_releases(&cluster.facts, &context.spec.namespace).is_none() {
        "its agent has not listed the Secrets of this namespace"
    } else {
        return Vec::new();
    };
    let message = format!("It was not checked whether the name of Helm release {name:?} is in use: {why}.");
    let hint = "No action is needed. If another release has objects of the same names, that cluster alone stops with a conflict.";
    vec![Finding::warning("G106", message, hint).with_path("/source/releaseName")]
}

/// The name of the Helm release, for a chart.
fn release_name(context: &ClusterContext<'_>) -> Option<String> {
    let chart = context.spec.source.helm_source()?;
    Some(chart.release_name_or(context.workload).to_owned())
}

/// The Helm releases of a namespace; `None` when unknown.
fn list_releases<'a>(facts: &'a ClusterFacts, namespace: &str) -> Option<&'a [HelmReleaseFacts]> {
    match facts.namespace(namespace) {
        Some(found) => found.helm_releases.as_deref(),
        // A namespace that does not exist has no releases.
        None if !facts.namespaces.is_empty() && facts.namespaces.len() < MAX_NAMESPACES => Some(&[]),
        None => None,
    }
}
