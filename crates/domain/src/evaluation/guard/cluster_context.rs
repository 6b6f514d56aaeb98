//! Input of the rules about the facts of one cluster: one cluster and the objects that it would receive.

use std::cell::OnceCell;
use std::collections::BTreeMap;

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
/// single clusters if there are templates.
pub(super) fn effective_objects<'a>(
    rendering: &BundleRenderer<'_>,
    selected: &[&'a Cluster],
) -> Vec<EffectiveObjects<'a>> {
    let (overrides, groups) = (&rendering.spec.overrides, rendering.groups);
    let templated = super::template::has_templates(rendering);
    let mut by_overrides: BTreeMap<(Vec<OverrideId>, Option<&str>), Vec<&'a Cluster>> = BTreeMap::new();
    for cluster in selected {
        let own = templated.then_some(cluster.name.as_str());
        by_overrides
            .entry((overrides::list_applicable_ids(overrides, cluster, groups), own))
            .or_default()
            .push(cluster);
    }
    let objects = rendering.parsed.objects();
    let view = |((order, own), clusters): ((Vec<OverrideId>, Option<&str>), Vec<&'a Cluster>)| {
        let (mut parsed, mut wrong) = (rendering.parsed.clone(), Vec::new());
        if order.is_empty() && own.is_none() {
            return EffectiveObjects { parsed, findings: wrong, clusters };
        }
        let cluster = clusters[0];
        let effective = overrides::apply_overrides(&objects, overrides, cluster, groups);
        // All clusters of the group have the same overrides, so the findings apply to all of them.
        let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        wrong.extend(effective.findings.into_iter().map(|finding| finding.with_clusters(names.clone())));
        let mut budget = TemplateBudget::default();
        for (manifest, mut object) in parsed.manifests.iter_mut().zip(effective.objects) {
            let filled = (&mut object, &mut budget);
            wrong.extend(super::template::fill_object(rendering, cluster, manifest, filled));
            if object_ref(&object).kind == manifest.object_ref().kind {
                manifest.object = object;
            }
        }
        // What the source has by itself is a finding of the source.
        let is_valid = !parsed.findings.iter().any(Finding::is_blocking);
        let rendered = parsed.manifests.iter().filter(|_| is_valid).map(|manifest| &manifest.object);
        wrong
            .extend(check_rendered(rendered).into_iter().map(|finding| finding.with_clusters(names.clone())));
        EffectiveObjects { parsed, findings: wrong, clusters }
    };
    by_overrides.into_iter().map(view).collect()
}
