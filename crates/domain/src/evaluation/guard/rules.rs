//! The tables of rules. Each rule emits one code, which the catalogue declares.

use super::catalogue::{Scope, declared, find_foreign};
use super::cluster_context::{self, ClusterContext, ClusterRule, EffectiveObjects, ViolationCache};
use super::rule_context::{self, RuleContext};
use super::{
    api_versions, autoscale, batch, capacity, chart_envelope, classes, container, credentials, deletion,
    helm_release, identity, image, ingress, labels, namespace, network, permission, pod_admission, ports,
    probes, pull, rbac, references, replicas, resources, secret, security, selector, service, volumes,
    webhook,
};
use crate::evaluation::render::BundleRenderer;
use crate::model::cluster::Cluster;
use crate::text::finding::{Finding, limit_findings, merge_clusters};

/// Findings of clusters that are merged before those of the next cluster are added: many clusters may have the same ones.
const MERGED_AT_ONCE: usize = 20_000;

/// A rule of scope [`Scope::Static`]: returns its findings about the objects of a workload.
type StaticRule = fn(&RuleContext<'_>) -> Vec<Finding>;

/// The rules of scope [`Scope::Static`], by code.
pub(super) const STATIC_RULES: &[(&str, StaticRule)] = &[
    (declared("G101"), identity::names),
    (declared("G107"), identity::namespaces),
    (declared("G110"), identity::duplicates_after_namespacing),
    (declared("G124"), secret::hidden_values),
    (declared("G128"), chart_envelope::charts),
    (declared("G201"), image::references),
    (declared("G202"), image::mutable_tags),
    (declared("G203"), pull::policies),
    (declared("G206"), container::names),
    (declared("G207"), ports::container_ports),
    (declared("G207"), ports::shared_ports),
    (declared("G208"), ports::host_ports),
    (declared("G209"), resources::quantities),
    (declared("G210"), resources::suspicious_quantities),
    (declared("G211"), resources::requests_over_limits),
    (declared("G211"), resources::not_overcommittable),
    (declared("G212"), resources::missing),
    (declared("G213"), replicas::replicas),
    (declared("G214"), selector::selectors),
    (declared("G215"), labels::labels),
    (declared("G216"), probes::probes),
    (declared("G217"), volumes::mounts),
    (declared("G217"), volumes::volumes),
    (declared("G217"), container::environment),
    (declared("G218"), references::unresolved),
    (declared("G219"), secret::clear_text),
    (declared("G221"), security::privileges),
    (declared("G222"), batch::jobs),
    (declared("G222"), batch::schedules),
    (declared("G223"), replicas::grace_period),
    (declared("G223"), replicas::headless_service),
    (declared("G301"), service::selectors),
    (declared("G302"), service::ports),
    (declared("G303"), service::node_ports),
    (declared("G304"), ingress::ingresses),
    (declared("G305"), ingress::conflicts),
    (declared("G307"), autoscale::autoscalers),
    (declared("G307"), autoscale::targets),
    (declared("G308"), autoscale::disruption_budgets),
    (declared("G309"), rbac::permissions),
    (declared("G310"), network::policies),
    (declared("G311"), webhook::deadlocks),
    (declared("G402"), api_versions::versions),
    (declared("G403"), labels::data),
    (declared("G516"), deletion::losses),
];

/// The rules of scope [`Scope::Fleet`] about one cluster, by code.
pub(super) const CLUSTER_RULES: &[(&str, ClusterRule)] = &[
    (declared("G105"), helm_release::names_in_use),
    (declared("G106"), helm_release::unchecked_names),
    (declared("G108"), namespace::missing),
    (declared("G203"), pull::digests),
    (declared("G205"), credentials::missing),
    (declared("G220"), pod_admission::enforced),
    (declared("G306"), classes::storage),
    (declared("G306"), classes::ingress),
    (declared("G407"), capacity::quotas),
    (declared("G408"), capacity::nodes),
    (declared("G410"), permission::denied),
];

/// Runs the static rules.
pub(super) fn run_static_rules(context: &RuleContext<'_>) -> Vec<Finding> {
    let run = |(code, rule): &(&str, StaticRule)| {
        let findings = rule(context);
        debug_assert_eq!(find_foreign(code, &findings, Scope::Static), None, "a finding of the rule {code}");
        findings
    };
    STATIC_RULES.iter().flat_map(run).collect()
}

/// Runs the rules about one cluster for every selected cluster. Objects are prepared once for clusters that receive the same.
pub(super) fn run_cluster_rules(rendering: &BundleRenderer<'_>, selected: &[&Cluster]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for EffectiveObjects { parsed, findings: wrong, clusters } in
        cluster_context::effective_objects(rendering, selected)
    {
        findings.extend(wrong);
        let objects = rule_context::rule_objects(rendering.spec, &parsed);
        let rule_context = RuleContext::new(rendering.spec, &objects);
        let violations = ViolationCache::default();
        for cluster in clusters {
            let context = ClusterContext {
                cluster,
                workload: rendering.workload,
                rule_context: &rule_context,
                spec: rendering.spec,
                violations: &violations,
            };
            let found = run_rules_for_cluster(&context).into_iter();
            findings.extend(found.map(|finding| finding.with_clusters(vec![cluster.name.clone()])));
            if findings.len() > MERGED_AT_ONCE {
                findings = limit_findings(merge_clusters(findings));
            }
        }
    }
    findings
}

fn run_rules_for_cluster(context: &ClusterContext<'_>) -> Vec<Finding> {
    let run = |(code, rule): &(&str, ClusterRule)| {
        let findings = rule(context);
        debug_assert_eq!(find_foreign(code, &findings, Scope::Fleet), None, "a finding of the rule {code}");
        findings
    };
    CLUSTER_RULES.iter().flat_map(run).collect()
}
