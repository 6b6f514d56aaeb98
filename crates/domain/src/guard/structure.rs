//! G403: an object has the structure that its kind asks for.
//!
//! An unknown field is an error and not a warning: objects are applied on the server's side, and there a field that the
//! kind does not have is refused whatever `fieldValidation` says. Where a cluster has told its own schema, that one
//! judges for it. For the others there is the schema of one version of Kubernetes, which within an API version only ever
//! adds fields and words; so what it does not know may be known to a newer cluster, and where one is chosen that is only a
//! warning. A field that an older cluster does not have yet passes here and is found by the dry run there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::scene::{self, Subject, quoted};
use super::site::{self, View};
use crate::cluster::Cluster;
use crate::cluster::facts::minor_version;
use crate::finding::Finding;
use crate::id::ClusterId;
use crate::manifest::Parsed;
use crate::render::Rendering;
use crate::schema::{Fault, KindName, Schema, Type, defined};
use crate::workload::WorkloadSpec;

/// What is known of kinds, on which clusters.
#[derive(Debug, Clone)]
pub struct Known<'a>(Vec<Judge<'a>>);

/// One schema, and for whom it speaks.
#[derive(Debug, Clone)]
struct Judge<'a> {
    schema: &'a Schema,
    /// Whether one of the clusters runs a newer Kubernetes than that of the schema.
    outdated: bool,
    clusters: Vec<&'a str>,
}

impl<'a> Known<'a> {
    /// What a schema knows, on clusters that are no newer than it.
    pub fn of(schema: &'a Schema) -> Self {
        Self(vec![Judge { schema, outdated: false, clusters: Vec::new() }])
    }

    /// What is known on these clusters: their own schemas where they have told them, and for the others this one.
    pub fn on(
        schema: &'a Schema,
        clusters: &'a [Cluster],
        told: &'a HashMap<ClusterId, Arc<Schema>>,
    ) -> Self {
        let mut judges: Vec<Judge<'a>> = Vec::new();
        for cluster in clusters {
            let own = told.get(&cluster.id);
            let speaks = own.map_or(schema, |own| &**own);
            let newer = |schema: &Schema| {
                minor_version(&cluster.facts.kubernetes_version).is_some_and(|minor| minor > schema.minor())
            };
            let outdated = own.is_none() && newer(schema);
            match judges.iter_mut().find(|judge| std::ptr::eq(judge.schema, speaks)) {
                Some(judge) => {
                    judge.outdated |= outdated;
                    judge.clusters.push(&cluster.name);
                }
                None => judges.push(Judge { schema: speaks, outdated, clusters: vec![&cluster.name] }),
            }
        }
        if judges.is_empty() { Self::of(schema) } else { Self(judges) }
    }

    /// The same, for some of the clusters alone.
    fn only(&self, clusters: &[&Cluster]) -> Self {
        let meant: HashSet<&str> = clusters.iter().map(|cluster| &*cluster.name).collect();
        let of = |judge: &Judge<'a>| {
            let clusters = judge.clusters.iter().filter(|name| meant.contains(*name)).copied().collect();
            Judge { clusters, ..judge.clone() }
        };
        // Who speaks for nobody by name speaks for all.
        let all = self.0.iter().filter(|judge| judge.clusters.is_empty()).cloned();
        Self(all.chain(self.0.iter().map(of).filter(|judge| !judge.clusters.is_empty())).collect())
    }
}

/// What does not fit, in the objects as they are written: a template is not judged before it is filled in. What only
/// some clusters refuse is said of those.
pub(super) fn check(spec: &WorkloadSpec, parsed: &Parsed, known: &Known<'_>) -> Vec<Finding> {
    let subjects = scene::subjects(spec, parsed);
    let mut findings: Vec<(Finding, Vec<&str>)> = Vec::new();
    for judge in &known.0 {
        for finding in judged(&subjects, parsed, judge) {
            match findings.iter_mut().find(|(other, _)| *other == finding) {
                Some((_, clusters)) => clusters.extend(&judge.clusters),
                None => findings.push((finding, judge.clusters.clone())),
            }
        }
    }
    let everywhere: usize = known.0.iter().map(|judge| judge.clusters.len()).sum();
    let told = findings.into_iter().map(|(finding, clusters)| {
        if clusters.len() == everywhere {
            return finding;
        }
        finding.on(clusters.into_iter().map(str::to_owned).collect())
    });
    told.collect()
}

fn judged(subjects: &[Subject<'_>], parsed: &Parsed, judge: &Judge<'_>) -> Vec<Finding> {
    let schema = judge.schema;
    let metadata = schema.metadata();
    let definitions = parsed.manifests.iter().flat_map(|manifest| defined(&manifest.object, &metadata));
    let custom: HashMap<KindName, Type> = definitions.collect();
    let mut findings = Vec::new();
    for subject in subjects {
        let name = &subject.name;
        let kind = (name.group.clone(), name.version.clone(), name.kind.clone());
        let object = &subject.manifest.object;
        let faults = match custom.get(&kind) {
            Some(of) => schema.check_as(of, object),
            None => schema.check(&kind, object),
        };
        findings.extend(faults.into_iter().map(|fault| said(subject, &fault, judge)));
    }
    findings
}

fn said(subject: &Subject<'_>, fault: &Fault, judge: &Judge<'_>) -> Finding {
    let (kind, name) = (&subject.name.kind, quoted(&subject.name.name));
    if judge.outdated && fault.may_be_newer {
        let message = format!(
            "{kind} {name}: {}, as far as Kubernetes 1.{} goes; one of these clusters runs a newer one.",
            fault.what,
            judge.schema.minor()
        );
        return subject.warning("G403", &fault.pointer, message, &fault.hint);
    }
    subject.error("G403", &fault.pointer, format!("{kind} {name}: {}.", fault.what), &fault.hint)
}

/// What does not fit in the objects as clusters with overrides get them, and fits as it is written.
///
/// A workload with templates is left out: every cluster has objects of its own then, and its dry run tells.
pub(super) fn overridden(known: &Known<'_>, rendering: &Rendering<'_>, chosen: &[&Cluster]) -> Vec<Finding> {
    if rendering.spec.overrides.is_empty() || super::template::any(rendering) {
        return Vec::new();
    }
    let written = check(rendering.spec, rendering.parsed, known);
    let mut findings = Vec::new();
    let is_written = |finding: &Finding| {
        written
            .iter()
            .any(|other| Finding { clusters: finding.clusters.clone(), ..other.clone() } == *finding)
    };
    for View { parsed, clusters, .. } in site::views(rendering, chosen) {
        let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        for mut finding in check(rendering.spec, &parsed, &known.only(&clusters)) {
            if is_written(&finding) {
                continue;
            }
            finding.message = format!("With the overrides for these clusters, {}", finding.message);
            findings.push(if finding.clusters.is_empty() { finding.on(names.clone()) } else { finding });
        }
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
