//! Templates (G115): invalid expressions, and values that a selected cluster does not have.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::evaluation::render::BundleRenderer;
use crate::model::cluster::Cluster;
use crate::model::overrides;
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;
use crate::text::manifest::{Manifest, ParsedManifests};
use crate::text::template::{self, SampleValues, TemplateBudget, TemplateError};

/// The manifests with sample values in place of template expressions, as input of the other rules, and the findings
/// about templates.
pub(super) fn fill_with_samples<'a>(
    spec: &WorkloadSpec,
    parsed: &'a ParsedManifests,
) -> (Cow<'a, ParsedManifests>, Vec<Finding>) {
    let mut budget = TemplateBudget::default();
    let overrides = spec.overrides.iter().flat_map(|patched| check_override(patched, &mut budget));
    let mut findings: Vec<Finding> = overrides.collect();
    if !parsed.manifests.iter().any(|manifest| template::is_templated(&manifest.object)) {
        return (Cow::Borrowed(parsed), findings);
    }
    let (mut sampled, mut budget) = (parsed.clone(), TemplateBudget::default());
    for manifest in &mut sampled.manifests {
        let name = manifest.object_ref();
        for problem in template::fill(&mut manifest.object, &SampleValues, &mut budget) {
            let finding = template::static_finding(&problem, &name);
            findings.extend(finding.map(|finding| {
                let place = manifest.location_of(&finding.path);
                finding.with_location(Some(place))
            }));
        }
    }
    (Cow::Owned(sampled), findings)
}

fn check_override(patched: &overrides::Override, budget: &mut TemplateBudget) -> Vec<Finding> {
    let values = patched.patches.iter().filter_map(|patch| patch.op.value());
    let mut findings = Vec::new();
    for value in values.filter(|value| template::is_templated(value)) {
        for problem in template::fill(&mut value.clone(), &SampleValues, budget) {
            if let TemplateError::Invalid { error: why, .. } = problem {
                let message = format!("Override {:?}: {}", patched.name, why.message);
                findings.push(Finding::error("G115", message, why.hint));
            }
        }
    }
    findings
}

/// Whether manifests or overrides contain template expressions.
pub(super) fn has_templates(rendering: &BundleRenderer<'_>) -> bool {
    let mut patches = rendering.spec.overrides.iter().flat_map(|item| &item.patches);
    let mut objects = rendering.parsed.manifests.iter().map(|manifest| &manifest.object);
    patches.any(|patch| patch.op.value().is_some_and(template::is_templated))
        || objects.any(template::is_templated)
}

/// Replaces the template expressions of an object with the values of a cluster. Expressions without a value on the
/// cluster stay as written and are returned as findings; so do those that only fail with its values, such as one that
/// would produce too much of a long value.
pub(super) fn fill_object(
    rendering: &BundleRenderer<'_>,
    cluster: &Cluster,
    manifest: &Manifest,
    (object, budget): (&mut Value, &mut TemplateBudget),
) -> Vec<Finding> {
    let name = crate::kubernetes::object::object_ref(object);
    let written = template::is_templated(object).then(|| object.clone());
    let problems = template::fill(object, &rendering.template_values(cluster), budget);
    let mut findings: Vec<Finding> = problems
        .iter()
        .filter_map(|problem| {
            template::missing_finding(problem, &name, &cluster.name, rendering.should_wait_on(cluster))
        })
        .collect();
    if problems.iter().any(|problem| find_invalid(problem).is_some()) {
        let known = written.map(list_invalid).unwrap_or_default();
        let by_cluster = problems
            .iter()
            .filter(|problem| find_invalid(problem).is_some_and(|pointer| !known.contains(pointer)));
        let invalid = by_cluster.filter_map(|problem| template::static_finding(problem, &name));
        findings.extend(invalid.map(|finding| finding.with_clusters(vec![cluster.name.clone()])));
    }
    let placed = findings.into_iter().map(|finding| {
        let place = manifest.location_of(&finding.path);
        finding.with_location(Some(place))
    });
    placed.collect()
}

/// Where an expression is that can't be evaluated although it has its values.
fn find_invalid(problem: &TemplateError) -> Option<&String> {
    match problem {
        TemplateError::Invalid { pointer, .. } => Some(pointer),
        _ => None,
    }
}

/// Where the expressions of an object are that can't be evaluated on any cluster: they are findings of the draft.
fn list_invalid(mut object: Value) -> BTreeSet<String> {
    let problems = template::fill(&mut object, &SampleValues, &mut TemplateBudget::default());
    problems.iter().filter_map(find_invalid).cloned().collect()
}
