//! Guard rails: what would go wrong, said before anything touches a cluster (S0-14, `guardrails.md`).
//!
//! One function per rule, one file per family, and [`RULES`] is the table of contents. A rule never guesses: what is
//! legal on some cluster is a warning or a note, and only what every cluster refuses is an error.

use crate::cluster::Cluster;
use crate::finding::{self, Finding};
use crate::manifest::Parsed;
use crate::render::Rendering;
use crate::schema::Schema;
use crate::workload::{self, WorkloadSpec};

mod autoscale;
mod batch;
mod change;
mod classes;
mod container;
mod credentials;
mod deletion;
mod demand;
mod exposure;
mod fleet;
mod identity;
mod image;
mod ingress;
mod labels;
mod namespace;
mod network;
mod permission;
mod pod_security;
mod ports;
mod probes;
mod pull;
mod quantity;
mod rbac;
mod references;
mod registry;
mod removed;
mod replicas;
mod resources;
mod scene;
mod schedule;
mod secret;
mod security;
mod selector;
mod service;
mod site;
mod structure;
mod template;
mod volumes;
mod webhook;

pub use exposure::{Exposures, Taken};
pub(crate) use quantity::suggest as suggested_quantity;
pub use registry::{Availability, images, unavailable};
use scene::Scene;
pub use structure::Known;

/// A rule: everything it has to say about the objects of a workload.
type Rule = fn(&Scene<'_>) -> Vec<Finding>;

/// The static rules by code (scope S).
const RULES: &[(&str, Rule)] = &[
    ("G101", identity::names),
    ("G107", identity::namespaces),
    ("G110", identity::twice_after_namespacing),
    ("G201", image::references),
    ("G202", image::mutable_tags),
    ("G203", pull::policies),
    ("G206", container::names),
    ("G207", ports::container_ports),
    ("G207", ports::shared_ports),
    ("G208", ports::host_ports),
    ("G209", resources::quantities),
    ("G211", resources::requests_over_limits),
    ("G211", resources::indivisible),
    ("G212", resources::missing),
    ("G213", replicas::replicas),
    ("G214", selector::selectors),
    ("G215", labels::labels),
    ("G216", probes::probes),
    ("G217", volumes::mounts),
    ("G217", volumes::volumes),
    ("G217", container::environment),
    ("G218", references::present),
    ("G219", secret::clear_text),
    ("G221", security::privileges),
    ("G222", batch::jobs),
    ("G222", batch::schedules),
    ("G223", replicas::grace_period),
    ("G223", replicas::headless_service),
    ("G301", service::selects_something),
    ("G302", service::ports),
    ("G303", service::node_ports),
    ("G304", ingress::ingresses),
    ("G305", ingress::clashes),
    ("G307", autoscale::autoscalers),
    ("G307", autoscale::scaled_once),
    ("G308", autoscale::disruption_budgets),
    ("G309", rbac::rights),
    ("G310", network::policies),
    ("G311", webhook::lock_outs),
    ("G402", removed::versions),
    ("G516", deletion::losses),
];

/// The rules that look at one cluster's facts, by code (scope F).
const FLEET_RULES: &[(&str, site::Rule)] = &[
    ("G108", namespace::missing),
    ("G203", pull::digests),
    ("G205", credentials::missing),
    ("G220", pod_security::enforced),
    ("G306", classes::storage),
    ("G306", classes::ingress),
    ("G407", demand::quotas),
    ("G408", demand::nodes),
    ("G410", permission::denied),
];

/// Everything that can be said without knowing any cluster (scope S): runs in the browser as a person types.
///
/// Holds what reading the manifests found, what [`workload::check`] says of the spec, and the static rules; worst first.
/// Of structure it knows only the kinds that the manifests define themselves; see [`check_static_with`].
pub fn check_static(name: &str, spec: &WorkloadSpec, parsed: &Parsed) -> Vec<Finding> {
    check_static_with(&Known::of(&Schema::default()), name, spec, parsed)
}

/// The same, with what is known of the objects' kinds (G403).
pub fn check_static_with(
    known: &Known<'_>,
    name: &str,
    spec: &WorkloadSpec,
    parsed: &Parsed,
) -> Vec<Finding> {
    let mut findings = parsed.findings.clone();
    findings.extend(workload::check(name, spec));
    findings.extend(no_objects(spec, parsed));
    let (sampled, about_templates) = template::sampled(spec, parsed);
    findings.extend(about_templates);
    let subjects = scene::subjects(spec, &sampled);
    let scene = Scene::new(spec, &subjects);
    for (_, rule) in RULES {
        findings.extend(rule(&scene));
    }
    structure::add(&mut findings, structure::check(spec, parsed, known));
    finding::sort(&mut findings);
    findings
}

/// G109: text that holds no object at all. Publishing it would take away everything that runs. Text that is still blank
/// is a page just opened and says nothing; the hub refuses to publish that.
fn no_objects(spec: &WorkloadSpec, parsed: &Parsed) -> Option<Finding> {
    let unexplained = !parsed.findings.iter().any(Finding::blocks);
    (!spec.source.is_blank() && unexplained && parsed.manifests.is_empty()).then(|| {
        Finding::error(
            "G109",
            "There is no Kubernetes object in these files: only comments or empty documents.",
            "Add an object, or unpublish the workload if nothing should run.",
        )
    })
}

pub use fleet::empty_fleet;

/// What is remarkable in the step from the published revision, its spec and its manifests, to this one: warnings alone.
pub fn check_change(before: (&WorkloadSpec, &Parsed), now: (&WorkloadSpec, &Parsed)) -> Vec<Finding> {
    let (published, current) = (template::sampled(before.0, before.1).0, template::sampled(now.0, now.1).0);
    let (old, new) = (scene::subjects(before.0, &published), scene::subjects(now.0, &current));
    change::check(&Scene::new(before.0, &old), &Scene::new(now.0, &new))
}

/// What is known of the objects' kinds says of the objects as overrides change them (G403); what is the same on several
/// clusters once.
pub fn check_overridden(known: &Known<'_>, rendering: &Rendering<'_>, chosen: &[&Cluster]) -> Vec<Finding> {
    finding::group(structure::overridden(known, rendering, chosen))
}

/// What the chosen clusters' facts say (scope F): kinds they do not serve, values that templates ask for and they do not
/// have, what namespaces, classes, quotas and nodes do not allow, clusters that can't be reached; worst first, and what is
/// the same on several clusters once.
pub fn check_fleet(rendering: &Rendering<'_>, chosen: &[&Cluster]) -> Vec<Finding> {
    let mut findings = fleet::check(rendering.parsed, chosen);
    findings.extend(site::ask(FLEET_RULES, rendering, chosen));
    let mut findings = finding::group(findings);
    finding::sort(&mut findings);
    findings
}

#[cfg(test)]
mod tests;
