//! Templates (G115): what will never be one, and what a chosen cluster does not have.

use std::borrow::Cow;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::manifest::{Manifest, Parsed};
use crate::overrides::{self, PatchOp};
use crate::render::Rendering;
use crate::template::{self, Problem, Sample};
use crate::workload::WorkloadSpec;

/// The manifests as the other rules look at them, with samples in place of values, and what is wrong with templates.
pub(super) fn sampled<'a>(spec: &WorkloadSpec, parsed: &'a Parsed) -> (Cow<'a, Parsed>, Vec<Finding>) {
    let mut findings: Vec<Finding> = spec.overrides.iter().flat_map(of_override).collect();
    if !parsed.manifests.iter().any(|manifest| template::is_templated(&manifest.object)) {
        return (Cow::Borrowed(parsed), findings);
    }
    let mut sampled = parsed.clone();
    for manifest in &mut sampled.manifests {
        let name = manifest.object_ref();
        for problem in template::fill(&mut manifest.object, &Sample) {
            let found = template::static_finding(&problem, &name);
            findings.extend(found.map(|finding| {
                let place = manifest.place_of(&finding.path);
                finding.placed(Some(place))
            }));
        }
    }
    (Cow::Owned(sampled), findings)
}

fn of_override(one: &overrides::Override) -> Vec<Finding> {
    let values = one.patches.iter().filter_map(|patch| match &patch.op {
        PatchOp::Merge { value } | PatchOp::Set { value, .. } => Some(value),
        PatchOp::Remove { .. } => None,
    });
    let mut findings = Vec::new();
    for value in values.filter(|value| template::is_templated(value)) {
        for problem in template::fill(&mut value.clone(), &Sample) {
            if let Problem::Bad { why, .. } = problem {
                let message = format!("Override {:?}: {}", one.name, why.message);
                findings.push(Finding::error("G115", message, why.hint));
            }
        }
    }
    findings
}

/// Whether there is anything to fill in, in manifests or in overrides.
pub(super) fn any(rendering: &Rendering<'_>) -> bool {
    let in_patch = |op: &PatchOp| match op {
        PatchOp::Merge { value } | PatchOp::Set { value, .. } => template::is_templated(value),
        PatchOp::Remove { .. } => false,
    };
    let mut patches = rendering.spec.overrides.iter().flat_map(|one| &one.patches);
    let mut objects = rendering.parsed.manifests.iter().map(|manifest| &manifest.object);
    patches.any(|patch| in_patch(&patch.op)) || objects.any(template::is_templated)
}

/// Fills an object in for a cluster, and says what the cluster does not have. That stays as written.
pub(super) fn fill(
    rendering: &Rendering<'_>,
    cluster: &Cluster,
    manifest: &Manifest,
    object: &mut Value,
) -> Vec<Finding> {
    let name = crate::bundle::object_ref(object);
    let problems = template::fill(object, &rendering.values(cluster));
    let missing = problems.iter().filter_map(|problem| {
        template::missing_finding(problem, &name, cluster, rendering.waits_on(cluster))
    });
    let placed = missing.map(|finding| {
        let place = manifest.place_of(&finding.path);
        finding.placed(Some(place))
    });
    placed.collect()
}
