//! Input of the rules about the facts of one cluster: one cluster and the objects that it would receive.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Value;

use super::pod_security::{self, PodSecurityLevel, PodSecurityViolation};
use super::rule_context::RuleContext;
use crate::evaluation::render::BundleRenderer;
use crate::kubernetes::id::OverrideId;
use crate::kubernetes::object::object_ref;
use crate::model::cluster::Cluster;
use crate::model::overrides;
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;
use crate::text::manifest::{ParsedManifests, check_rendered};
use crate::text::template::TemplateBudget;

/// A selected cluster, and the objects that it would receive.
pub(super) struct ClusterContext<'a> {
    pub cluster: &'a Cluster,
    /// Name of the workload.
    pub workload: &'a str,
    pub rule_context: &'a RuleContext<'a>,
    pub spec: &'a WorkloadSpec,
    pub violations: &'a ViolationCache,
}

/// A rule about one cluster: returns its findings about the objects on it.
pub(super) type ClusterRule = fn(&ClusterContext<'_>) -> Vec<Finding>;

impl ClusterContext<'_> {
    /// The violations of a level of the Pod Security Standards, by pod; calculated once for all clusters.
    pub(super) fn violations(&self, level: PodSecurityLevel) -> &[Vec<PodSecurityViolation>] {
        let cell = match level {
            PodSecurityLevel::Baseline => &self.violations.baseline,
            PodSecurityLevel::Restricted => &self.violations.restricted,
        };
        cell.get_or_init(|| {
            self.rule_context.pods.iter().map(|pod| pod_security::find_violations(pod, level)).collect()
        })
    }
}

/// Violations of the Pod Security Standards, by pod.
#[derive(Default)]
pub(super) struct ViolationCache {
    baseline: OnceCell<Vec<Vec<PodSecurityViolation>>>,
    restricted: OnceCell<Vec<Vec<PodSecurityViolation>>>,
}

/// The objects that some clusters receive.
pub(super) struct EffectiveObjects<'a> {
    pub parsed: ParsedManifests,
    /// Findings about the overrides, and about template values that the cluster does not have.
    pub findings: Vec<Finding>,
    pub clusters: Vec<&'a Cluster>,
}

/// The objects of the selected clusters, grouped by clusters that receive the same: those with the same overrides, or
/// single clusters if there are templates. Each is made when it is taken, so that one copy of the objects is in memory however many
/// clusters there are.
pub(super) fn effective_objects<'a>(
    rendering: &BundleRenderer<'_>,
    selected: &[&'a Cluster],
) -> impl Iterator<Item = EffectiveObjects<'a>> {
    let templated = super::template::has_templates(rendering);
    let mut by_overrides: BTreeMap<(Vec<OverrideId>, Option<&'a str>), Vec<&'a Cluster>> = BTreeMap::new();
    for &cluster in selected {
        let own = templated.then_some(cluster.name.as_str());
        let order = overrides::list_applicable_ids(&rendering.spec.overrides, cluster, rendering.groups);
        by_overrides.entry((order, own)).or_default().push(cluster);
    }
    let objects = rendering.parsed.objects();
    by_overrides.into_iter().map(move |((order, own), clusters)| {
        if order.is_empty() && own.is_none() {
            return EffectiveObjects { parsed: rendering.parsed.clone(), findings: Vec::new(), clusters };
        }
        apply_and_fill(rendering, &objects, clusters)
    })
}

/// What these clusters receive: the objects with their overrides, which are the same for all of them, and the values of the first one.
fn apply_and_fill<'a>(
    rendering: &BundleRenderer<'_>,
    objects: &[Value],
    clusters: Vec<&'a Cluster>,
) -> EffectiveObjects<'a> {
    let cluster = clusters[0];
    let spec = rendering.spec;
    let effective =
        overrides::apply_overrides(objects, &spec.overrides, cluster, rendering.groups, &spec.namespace);
    // All clusters of the group have the same overrides, so the findings apply to all of them.
    let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let on_clusters = |finding: Finding| finding.with_clusters(names.clone());
    let mut findings: Vec<Finding> = effective.findings.into_iter().map(on_clusters).collect();
    let mut budget = TemplateBudget::default();
    let mut manifests = Vec::with_capacity(rendering.parsed.manifests.len());
    for (manifest, mut object) in rendering.parsed.manifests.iter().zip(effective.objects) {
        let filled = (&mut object, &mut budget);
        findings.extend(super::template::fill_object(rendering, cluster, manifest, filled));
        let mut own = manifest.clone();
        if object_ref(&object).kind == own.object_ref().kind {
            own.object = object;
        }
        manifests.push(own);
    }
    let parsed = ParsedManifests { manifests, findings: rendering.parsed.findings.clone() };
    // What the source has by itself is a finding of the source.
    let is_valid = !parsed.findings.iter().any(Finding::is_blocking);
    let rendered = parsed.manifests.iter().filter(|_| is_valid).map(|manifest| &manifest.object);
    findings.extend(check_rendered(rendered).into_iter().map(on_clusters));
    EffectiveObjects { parsed, findings, clusters }
}
