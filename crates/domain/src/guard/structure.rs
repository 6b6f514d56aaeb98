//! G403: an object has the structure that its kind asks for.
//!
//! An unknown field is an error and not a warning: objects are applied on the server's side, and there a field that the
//! kind does not have is refused whatever `fieldValidation` says. The schema is that of one version of Kubernetes, which
//! within an API version only ever adds fields and words; so what it does not know may be known to a newer cluster, and
//! where one is chosen that is only a warning. A field that an older cluster does not have yet passes here and is found
//! by the dry run there.

use std::collections::HashMap;

use super::removed::minor;
use super::scene::{self, Subject, quoted};
use super::site::{self, View};
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::manifest::Parsed;
use crate::render::Rendering;
use crate::schema::{Fault, KindName, Schema, Type, defined};
use crate::workload::WorkloadSpec;

/// What is known of kinds.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    schema: &'a Schema,
    /// Whether a cluster runs a newer Kubernetes than that of the schema.
    outdated: bool,
}

impl<'a> Known<'a> {
    /// What a schema knows, on clusters that are no newer than it.
    pub fn of(schema: &'a Schema) -> Self {
        Self { schema, outdated: false }
    }

    /// What a schema knows, on these clusters.
    pub fn on(schema: &'a Schema, clusters: &[Cluster]) -> Self {
        let newer = |cluster: &Cluster| {
            minor(&cluster.facts.kubernetes_version).is_some_and(|minor| minor > schema.minor())
        };
        Self { schema, outdated: clusters.iter().any(newer) }
    }
}

/// What does not fit, in the objects as they are written: a template is not judged before it is filled in.
pub(super) fn check(spec: &WorkloadSpec, parsed: &Parsed, known: Known<'_>) -> Vec<Finding> {
    let schema = known.schema;
    let metadata = schema.metadata();
    let definitions = parsed.manifests.iter().flat_map(|manifest| defined(&manifest.object, &metadata));
    let custom: HashMap<KindName, Type> = definitions.collect();
    let mut findings = Vec::new();
    for subject in scene::subjects(spec, parsed) {
        let name = &subject.name;
        let kind = (name.group.clone(), name.version.clone(), name.kind.clone());
        let object = &subject.manifest.object;
        let faults = match custom.get(&kind) {
            Some(of) => schema.check_as(of, object),
            None => schema.check(&kind, object),
        };
        findings.extend(faults.into_iter().map(|fault| said(&subject, &fault, known)));
    }
    findings
}

fn said(subject: &Subject<'_>, fault: &Fault, known: Known<'_>) -> Finding {
    let (kind, name) = (&subject.name.kind, quoted(&subject.name.name));
    if known.outdated && fault.may_be_newer {
        let message = format!(
            "{kind} {name}: {}, as far as Kubernetes 1.{} goes; one of these clusters runs a newer one.",
            fault.what,
            known.schema.minor()
        );
        return subject.warning("G403", &fault.pointer, message, &fault.hint);
    }
    subject.error("G403", &fault.pointer, format!("{kind} {name}: {}.", fault.what), &fault.hint)
}

/// What does not fit in the objects as clusters with overrides get them, and fits as it is written.
///
/// A workload with templates is left out: every cluster has objects of its own then, and its dry run tells.
pub(super) fn overridden(known: Known<'_>, rendering: &Rendering<'_>, chosen: &[&Cluster]) -> Vec<Finding> {
    if rendering.spec.overrides.is_empty() || super::template::any(rendering) {
        return Vec::new();
    }
    let written = check(rendering.spec, rendering.parsed, known);
    let mut findings = Vec::new();
    for View { parsed, clusters, .. } in site::views(rendering, chosen) {
        let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let found =
            check(rendering.spec, &parsed, known).into_iter().filter(|finding| !written.contains(finding));
        findings.extend(found.map(|mut finding| {
            finding.message = format!("With the overrides for these clusters, {}", finding.message);
            finding.on(names.clone())
        }));
    }
    findings
}

/// Adds what no other rule has said of the same field: a rule that knows what the field is for tells more.
pub(super) fn add(findings: &mut Vec<Finding>, about_structure: Vec<Finding>) {
    let mut told: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
    for finding in findings.iter().filter(|finding| finding.blocks()) {
        told.entry((&finding.object, &finding.path)).or_default().push(&finding.message);
    }
    let is_told = |finding: &Finding| {
        let said = |path| told.get(&(finding.object.as_str(), path)).map_or(&[][..], Vec::as_slice);
        // Of what is missing or of another type, some rules speak at the object around it.
        let (around, field) = finding.path.rsplit_once('/').unwrap_or_default();
        let known = !finding.message.contains(": unknown field ");
        // Of an item that is there twice, some speak at the field that is the same.
        let inside = |path: &str| path.strip_prefix(&*finding.path).is_some_and(|rest| rest.starts_with('/'));
        // The backend of an Ingress as v1beta1 wrote it is told as a whole.
        let old = !known && matches!(field, "serviceName" | "servicePort") && !said(around).is_empty();
        let twice = finding.message.contains(" has the same ");
        old || !said(&finding.path).is_empty()
            || known && said(around).iter().any(|said| said.contains(field))
            || twice && told.keys().any(|(object, path)| *object == finding.object && inside(path))
    };
    let fresh: Vec<Finding> = about_structure.into_iter().filter(|finding| !is_told(finding)).collect();
    findings.extend(fresh);
}
