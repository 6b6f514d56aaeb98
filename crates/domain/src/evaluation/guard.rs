//! Guard rails: checks that report problems before anything is written to a cluster (S0-14, docs/guard-rails.md).
//!
//! [`catalogue`] declares every code; `rules` lists the functions that emit them, one file per subject. Only what every
//! cluster rejects is an error; what some cluster may accept is a warning or a note.

use crate::evaluation::render::BundleRenderer;
use crate::model::cluster::Cluster;
use crate::model::manifest_work;
use crate::model::workload::{self, WorkloadSpec};
use crate::text::finding::{self, Finding};
use crate::text::manifest::ParsedManifests;
use crate::text::schema::Schema;

mod api_versions;
mod autoscale;
mod batch;
mod capacity;
pub mod catalogue;
mod change;
mod chart_envelope;
mod classes;
mod cluster_context;
mod container;
mod credentials;
mod deletion;
mod exposure;
mod fleet;
mod helm_release;
mod identity;
mod image;
mod ingress;
mod labels;
mod namespace;
mod network;
mod permission;
mod pod_admission;
mod pod_security;
mod ports;
mod probes;
mod pull;
mod rbac;
mod references;
mod registry;
mod replicas;
mod resources;
mod rule_context;
mod rules;
mod schedule;
mod secret;
mod security;
mod selector;
mod service;
mod structure;
mod template;
mod volumes;
mod webhook;

pub use crate::text::name_check::INVALID_NAME;
pub use api_versions::REMOVED_API_VERSION;
use catalogue::{Scope, find_undeclared};
pub use exposure::{ExposureConflict, Exposures};
pub use fleet::{NO_CLUSTER_SELECTED, empty_fleet_finding};
pub use helm_release::RELEASE_NAME_IN_USE;
pub use registry::{ImageAvailability, check_images, list_images};
use rule_context::RuleContext;
pub use structure::ClusterSchemas;

/// Runs every check that needs no cluster (scope static); the browser runs it while the text is edited.
///
/// Returns the findings of the parser, of [`workload::check`] and of the static rules, worst first. The structure of
/// objects is checked only for kinds that the manifests define themselves; see [`check_static_with`].
pub fn check_static(name: &str, spec: &WorkloadSpec, parsed: &ParsedManifests) -> Vec<Finding> {
    check_static_with(&ClusterSchemas::from_schema(&Schema::default()), name, spec, parsed)
}

/// Like [`check_static`], and checks the structure of objects against the given schemas (G403).
pub fn check_static_with(
    schemas: &ClusterSchemas<'_>,
    name: &str,
    spec: &WorkloadSpec,
    parsed: &ParsedManifests,
) -> Vec<Finding> {
    let mut findings = parsed.findings.clone();
    findings.extend(workload::check(name, spec));
    findings.extend(manifest_work::check(spec));
    findings.extend(check_has_objects(spec, parsed));
    let (sampled, template_findings) = template::fill_with_samples(spec, parsed);
    findings.extend(template_findings);
    let objects = rule_context::rule_objects(spec, &sampled);
    let context = RuleContext::new(spec, &objects);
    findings.extend(rules::run_static_rules(&context));
    structure::add_unreported(&mut findings, structure::check(spec, parsed, schemas));
    debug_assert_eq!(find_undeclared(&findings, Scope::Static), None);
    finding::sort_findings(&mut findings);
    finding::limit_findings(findings)
}

/// G109: text without any object. Publishing it would delete everything that runs. Blank text has no finding here,
/// because it is the initial state of the editor; the hub rejects publishing it. Nor has a chart or a repository: only the hub has
/// their objects.
fn check_has_objects(spec: &WorkloadSpec, parsed: &ParsedManifests) -> Option<Finding> {
    if !spec.source.is_inline() {
        return None;
    }
    let unexplained = !parsed.findings.iter().any(Finding::is_blocking);
    (!spec.source.is_blank() && unexplained && parsed.manifests.is_empty()).then(|| {
        Finding::error(
            "G109",
            "There is no Kubernetes object in these files: only comments or empty documents.",
            "Add an object, or unpublish the workload if nothing should run.",
        )
    })
}

/// Compares a draft (spec and manifests) with the published revision. Returns warnings only.
pub fn check_change(
    published: (&WorkloadSpec, &ParsedManifests),
    draft: (&WorkloadSpec, &ParsedManifests),
) -> Vec<Finding> {
    let (old, new) = (
        template::fill_with_samples(published.0, published.1).0,
        template::fill_with_samples(draft.0, draft.1).0,
    );
    let (old, new) =
        (rule_context::rule_objects(published.0, &old), rule_context::rule_objects(draft.0, &new));
    let findings = change::check(&RuleContext::new(published.0, &old), &RuleContext::new(draft.0, &new));
    debug_assert_eq!(find_undeclared(&findings, Scope::Change), None);
    findings
}

/// Checks the structure of the objects with overrides applied (G403). Identical findings of several clusters are
/// merged.
pub fn check_overridden_objects(
    schemas: &ClusterSchemas<'_>,
    rendering: &BundleRenderer<'_>,
    selected: &[&Cluster],
) -> Vec<Finding> {
    let findings = finding::merge_clusters(structure::check_overridden(schemas, rendering, selected));
    debug_assert_eq!(find_undeclared(&findings, Scope::Fleet), None);
    finding::limit_findings(findings)
}

/// Runs the checks that need the facts of the selected clusters (scope fleet): kinds that they do not serve, template
/// values that they do not have, limits of namespaces, classes, quotas and nodes, and clusters that are offline. Worst
/// first; identical findings of several clusters are merged.
pub fn check_fleet(rendering: &BundleRenderer<'_>, selected: &[&Cluster]) -> Vec<Finding> {
    let mut findings = fleet::check(rendering.parsed, &rendering.spec.depends_on, selected);
    findings.extend(rules::run_cluster_rules(rendering, selected));
    let mut findings = finding::merge_clusters(findings);
    finding::sort_findings(&mut findings);
    debug_assert_eq!(find_undeclared(&findings, Scope::Fleet), None);
    finding::limit_findings(findings)
}

#[cfg(test)]
mod tests;
