//! G403: the structure of an object matches the schema of its kind.
//!
//! An unknown field is an error and not a warning, because server-side apply rejects unknown fields whatever
//! `fieldValidation` is. If a cluster has reported its own schema, that schema applies to it. All other clusters are
//! checked against the built-in schema of one Kubernetes version. Within an API version, Kubernetes only adds fields
//! and enum values, so a newer cluster may have what the built-in schema lacks; if such a cluster is selected, the
//! finding is a warning. A field that an older cluster lacks passes here; the dry run on that cluster finds it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::cluster_context::{self, EffectiveObjects};
use super::rule_context::{self, RuleObject, quote};
use crate::evaluation::render::BundleRenderer;
use crate::kubernetes::id::ClusterId;
use crate::model::cluster::Cluster;
use crate::model::cluster::facts::parse_minor_version;
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;
use crate::text::manifest::ParsedManifests;
use crate::text::schema::{KindKey, Schema, SchemaViolation, ValueType, parse_definition};
use crate::text::secret_text;

/// The schemas of kinds, by cluster.
#[derive(Debug, Clone)]
pub struct ClusterSchemas<'a>(Vec<ClusterSchema<'a>>);

/// One schema and the clusters that it applies to.
#[derive(Debug, Clone)]
struct ClusterSchema<'a> {
    schema: &'a Schema,
    /// Whether one of the clusters runs a newer Kubernetes version than that of the schema.
    outdated: bool,
    /// Names of the clusters; empty if it applies to all.
    clusters: Vec<&'a str>,
}

impl<'a> ClusterSchemas<'a> {
    /// One schema for all clusters; assumes that none runs a newer Kubernetes version.
    pub fn from_schema(schema: &'a Schema) -> Self {
        Self(vec![ClusterSchema { schema, outdated: false, clusters: Vec::new() }])
    }

    /// The reported schema of each cluster, and `default` for the clusters that have reported none.
    pub fn for_clusters(
        default: &'a Schema,
        clusters: &'a [Cluster],
        reported: &'a HashMap<ClusterId, Arc<Schema>>,
    ) -> Self {
        let mut schemas: Vec<ClusterSchema<'a>> = Vec::new();
        for cluster in clusters {
            let own = reported.get(&cluster.id);
            let schema = own.map_or(default, |own| &**own);
            let is_newer = |schema: &Schema| {
                parse_minor_version(&cluster.facts.kubernetes_version)
                    .is_some_and(|minor| minor > schema.minor())
            };
            let outdated = own.is_none() && is_newer(default);
            match schemas.iter_mut().find(|entry| std::ptr::eq(entry.schema, schema)) {
                Some(entry) => {
                    entry.outdated |= outdated;
                    entry.clusters.push(&cluster.name);
                }
                None => schemas.push(ClusterSchema { schema, outdated, clusters: vec![&cluster.name] }),
            }
        }
        if schemas.is_empty() { Self::from_schema(default) } else { Self(schemas) }
    }

    /// The schemas of some of the clusters.
    fn restrict_to(&self, clusters: &[&Cluster]) -> Self {
        let names: HashSet<&str> = clusters.iter().map(|cluster| &*cluster.name).collect();
        let restrict = |entry: &ClusterSchema<'a>| {
            let clusters = entry.clusters.iter().filter(|name| names.contains(*name)).copied().collect();
            ClusterSchema { clusters, ..entry.clone() }
        };
        // A schema without cluster names applies to all clusters.
        let for_all = self.0.iter().filter(|entry| entry.clusters.is_empty()).cloned();
        let for_some = self.0.iter().map(restrict).filter(|entry| !entry.clusters.is_empty());
        Self(for_all.chain(for_some).collect())
    }
}

/// Checks the objects as they are written; values with a template are skipped. A violation for only some of the
/// clusters names those clusters.
pub(super) fn check(
    spec: &WorkloadSpec,
    parsed: &ParsedManifests,
    schemas: &ClusterSchemas<'_>,
) -> Vec<Finding> {
    let objects = rule_context::rule_objects(spec, parsed);
    let mut findings: Vec<(Finding, Vec<&str>)> = Vec::new();
    for schema in &schemas.0 {
        for finding in check_objects(&objects, parsed, schema) {
            match findings.iter_mut().find(|(other, _)| *other == finding) {
                Some((_, clusters)) => clusters.extend(&schema.clusters),
                None => findings.push((finding, schema.clusters.clone())),
            }
        }
    }
    let all_clusters: usize = schemas.0.iter().map(|schema| schema.clusters.len()).sum();
    let located = findings.into_iter().map(|(finding, clusters)| {
        if clusters.len() == all_clusters {
            return finding;
        }
        finding.with_clusters(clusters.into_iter().map(str::to_owned).collect())
    });
    located.collect()
}

fn check_objects(
    objects: &[RuleObject<'_>],
    parsed: &ParsedManifests,
    cluster_schema: &ClusterSchema<'_>,
) -> Vec<Finding> {
    let schema = cluster_schema.schema;
    let metadata = schema.metadata_type();
    let definitions =
        parsed.manifests.iter().flat_map(|manifest| parse_definition(&manifest.object, &metadata));
    let custom: HashMap<KindKey, ValueType> = definitions.collect();
    let mut findings = Vec::new();
    for object in objects {
        let name = &object.name;
        let kind = (name.group.clone(), name.version.clone(), name.kind.clone());
        let value = &object.manifest.object;
        let violations = match custom.get(&kind) {
            Some(of) => schema.check_value(of, value),
            None => schema.check(&kind, value),
        };
        findings.extend(
            violations.into_iter().map(|violation| violation_finding(object, &violation, cluster_schema)),
        );
    }
    findings
}

fn violation_finding(
    object: &RuleObject<'_>,
    violation: &SchemaViolation,
    cluster_schema: &ClusterSchema<'_>,
) -> Finding {
    let (kind, name) = (&object.name.kind, quote(&object.name.name));
    let what = shown_message(object, violation);
    if cluster_schema.outdated && violation.may_be_newer {
        let message = format!(
            "{kind} {name}: {what} in Kubernetes 1.{}; one of these clusters runs a newer version.",
            cluster_schema.schema.minor()
        );
        return object.warning("G403", &violation.pointer, message, &violation.hint);
    }
    let message = format!("{kind} {name}: {what}.");
    object.error("G403", &violation.pointer, message, &violation.hint)
}

/// The message of a violation, without the value if it is one of a Secret.
fn shown_message(object: &RuleObject<'_>, violation: &SchemaViolation) -> String {
    let manifest = &object.manifest.object;
    let is_hidden = secret_text::is_value_path(&violation.pointer)
        && (object.is_kind("", "Secret") || secret_text::contains_secret(manifest));
    if is_hidden { violation.message.clone() } else { violation.describe() }
}

/// Violations in the objects with overrides applied that are not in the objects as written.
///
/// A workload with templates is skipped, because each cluster then has its own objects; the dry run checks them.
pub(super) fn check_overridden(
    schemas: &ClusterSchemas<'_>,
    rendering: &BundleRenderer<'_>,
    selected: &[&Cluster],
) -> Vec<Finding> {
    if rendering.spec.overrides.is_empty() || super::template::has_templates(rendering) {
        return Vec::new();
    }
    let written = check(rendering.spec, rendering.parsed, schemas);
    let mut findings = Vec::new();
    let is_written = |finding: &Finding| {
        written
            .iter()
            .any(|other| Finding { clusters: finding.clusters.clone(), ..other.clone() } == *finding)
    };
    for EffectiveObjects { parsed, clusters, .. } in cluster_context::effective_objects(rendering, selected) {
        let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        for mut finding in check(rendering.spec, &parsed, &schemas.restrict_to(&clusters)) {
            if is_written(&finding) {
                continue;
            }
            finding.message = format!("With the overrides for these clusters, {}", finding.message);
            findings.push(if finding.clusters.is_empty() {
                finding.with_clusters(names.clone())
            } else {
                finding
            });
        }
    }
    findings
}

/// Adds the structural findings, except those about a field for which another rule has an error: the message of that
/// rule is more specific.
pub(super) fn add_unreported(findings: &mut Vec<Finding>, structural: Vec<Finding>) {
    let mut reported: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
    for finding in findings.iter().filter(|finding| finding.is_blocking()) {
        reported.entry((&finding.object, &finding.path)).or_default().push(&finding.message);
    }
    let is_reported = |finding: &Finding| {
        let messages = |path| reported.get(&(finding.object.as_str(), path)).map_or(&[][..], Vec::as_slice);
        // Some rules report a field that is missing or has a wrong type at its parent.
        let (parent, field) = finding.path.rsplit_once('/').unwrap_or_default();
        let known = !finding.message.contains(": unknown field ");
        // Some rules report a duplicate item at the field that is equal.
        let inside = |path: &str| path.strip_prefix(&*finding.path).is_some_and(|rest| rest.starts_with('/'));
        // The v1beta1 backend of an Ingress is reported as a whole.
        let old = !known && matches!(field, "serviceName" | "servicePort") && !messages(parent).is_empty();
        let duplicate = finding.message.contains(" has the same ");
        old || !messages(&finding.path).is_empty()
            || known && messages(parent).iter().any(|message| message.contains(field))
            || duplicate && reported.keys().any(|(object, path)| *object == finding.object && inside(path))
    };
    let new: Vec<Finding> = structural.into_iter().filter(|finding| !is_reported(finding)).collect();
    findings.extend(new);
}
