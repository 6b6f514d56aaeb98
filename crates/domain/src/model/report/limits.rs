//! Limits of reports: the agent truncates what it sends, and the hub what it received, by the same rules, so that a large
//! release is reported in part and never rejected, and no report is larger than the hub is ready to store (P19).
//!
//! Truncating twice changes nothing. What is left out is counted by a last item, as `… 120 more`.

use crate::kubernetes::object::ObjectRef;
use crate::model::cluster::{ClusterFacts, NamespaceFacts};
use crate::model::failure_cause::FailureCause;
use crate::model::health::Health;
use crate::model::policy::{Feedback, MAX_FEEDBACK_BYTES};
use crate::model::release::{Reason, StageState};
use crate::model::report::{DriftReport, DriftedField, ReleaseReport, ReportBatch, ResourceStatus};
use crate::text::bounded_json::JsonSize;
use crate::text::finding::Finding;
use crate::text::null_character;

/// The most batches that may be missing before one; an agent sends them one by one.
pub const MAX_SEQ_STEP: i64 = 1_000;
/// The most releases in one batch.
pub const MAX_RELEASES: usize = 4_000;
/// The most leftovers in one batch.
pub const MAX_LEFTOVERS: usize = 10_000;
/// The most objects of one release; a bundle has at most 500 documents.
pub const MAX_RESOURCES: usize = 2_000;
/// The most bytes of the objects of one release; beyond it, they are reported without causes and values.
pub const MAX_RESOURCES_BYTES: usize = 4 * 1024 * 1024;
/// The most values of the objects of one release; beyond it, they are reported without causes and values. Each needs far more memory than
/// its text.
pub const MAX_RESOURCES_VALUES: u64 = 60_000;
/// The most values of the facts of a cluster: they are read for its page and for each check of a workload on it. Beyond it, its namespaces
/// are reported without lists, and then not all of them.
pub const MAX_FACTS_VALUES: u64 = 100_000;
/// The most bytes of these facts, as JSON.
pub const MAX_FACTS_BYTES: u64 = 4 * 1024 * 1024;
/// The most drift notes of one release in one report; each becomes an event.
pub const MAX_DRIFT_NOTES: usize = 10;
/// The most bytes of a message, a hint or a cause.
pub const MAX_TEXT_BYTES: usize = 4_096;
/// The most bytes of a name, a reason or another short text. Names of Kubernetes have at most 253.
pub const MAX_NAME_BYTES: usize = 512;

const MAX_STAGES: usize = 16;
const MAX_FIELDS: usize = 50;
/// The most bytes of a value of a drifted field.
const MAX_FIELD_VALUE_BYTES: usize = 1_024;
const MAX_CAUSES: usize = 20;
const MAX_VALUES: usize = 64;
const MAX_ZONES: usize = 100;
const MAX_NODE_POOLS: usize = 200;
const MAX_CLASSES: usize = 500;
/// About ten times the kinds of a cluster with many operators.
const MAX_APIS: usize = 10_000;
const MAX_NAMESPACES: usize = crate::model::cluster::facts::MAX_NAMESPACES;
const MAX_HELM_RELEASES: usize = crate::model::cluster::facts::MAX_HELM_RELEASES;
const MAX_QUOTAS: usize = 50;
const MAX_GRANTED: usize = 1_000;

impl ReportBatch {
    /// Truncates everything in it to the limits, and keeps the last report of each release. The number of releases stays:
    /// the agent splits a batch, and the hub rejects one with more than [`MAX_RELEASES`].
    pub fn truncate(&mut self) {
        if let Some(facts) = &mut self.facts {
            facts.truncate();
        }
        if let Some(leftovers) = &mut self.leftovers {
            leftovers.truncate(MAX_LEFTOVERS);
        }
        let mut seen = std::collections::HashSet::new();
        self.releases.reverse();
        self.releases.retain(|report| seen.insert(report.release));
        self.releases.reverse();
        self.releases.iter_mut().for_each(ReleaseReport::truncate);
    }
}

impl ReleaseReport {
    /// Truncates its lists and texts to the limits.
    pub fn truncate(&mut self) {
        self.stages.truncate(MAX_STAGES);
        self.stages.iter_mut().for_each(|stage| truncate_stage(&mut stage.state));
        truncate_health(&mut self.health);
        truncate_drift(&mut self.drift, &mut self.drift_omitted);
        truncate_resources(&mut self.resources);
    }
}

/// Keeps the first drift notes and counts the others in `omitted`.
pub fn truncate_drift(notes: &mut Vec<DriftReport>, omitted: &mut u32) {
    let more = u32::try_from(notes.len().saturating_sub(MAX_DRIFT_NOTES)).unwrap_or(u32::MAX);
    *omitted = omitted.saturating_add(more);
    notes.truncate(MAX_DRIFT_NOTES);
    for note in notes {
        truncate_object(&mut note.object);
        truncate_names(&mut note.fields, MAX_FIELDS);
        truncate_fields(&mut note.values);
        truncate_text(&mut note.manager, MAX_NAME_BYTES);
    }
}

fn truncate_resources(resources: &mut Vec<ResourceStatus>) {
    if resources.len() > MAX_RESOURCES {
        let omitted = resources.split_off(MAX_RESOURCES - 1);
        resources.push(omitted_resources(&omitted));
    }
    let mut total = JsonSize::default();
    for resource in resources {
        truncate_object(&mut resource.object);
        truncate_text(&mut resource.resource, MAX_NAME_BYTES);
        truncate_health(&mut resource.health);
        truncate_names(&mut resource.drifted, MAX_FIELDS);
        truncate_fields(&mut resource.drifted_fields);
        truncate_texts(&mut resource.causes, MAX_CAUSES, MAX_TEXT_BYTES);
        truncate_causes(&mut resource.failure_causes);
        resource.problem.iter_mut().for_each(truncate_finding);
        if let Some(outcome) = &mut resource.field_revert {
            truncate_text(&mut outcome.id, MAX_NAME_BYTES);
            outcome.error.iter_mut().for_each(|error| truncate_text(error, MAX_NAME_BYTES));
        }
        resource.feedback.truncate(MAX_VALUES);
        resource.feedback.iter_mut().for_each(truncate_feedback);
        // Derived by the hub.
        resource.conditions = Vec::new();
        let mut size = JsonSize::of_serialized(resource);
        let with_details = total.and(size);
        if with_details.bytes > MAX_RESOURCES_BYTES as u64 || with_details.values > MAX_RESOURCES_VALUES {
            drop_details(resource);
            size = JsonSize::of_serialized(resource);
        }
        total = total.and(size);
    }
}

/// Leaves out what explains the status of an object.
fn drop_details(resource: &mut ResourceStatus) {
    if !resource.causes.is_empty() {
        resource.causes = vec!["The causes are left out: the report of the release is too long.".to_owned()];
    }
    (resource.feedback, resource.failure_causes, resource.drifted_fields) =
        (Vec::new(), Vec::new(), Vec::new());
    resource.drifted.truncate(1);
    truncate_text(&mut resource.health.message, MAX_NAME_BYTES);
    resource.problem.iter_mut().for_each(|problem| {
        for text in [&mut problem.path, &mut problem.message, &mut problem.hint] {
            truncate_text(text, MAX_NAME_BYTES);
        }
    });
}

/// The length of an item as JSON.
pub fn serialized_length(item: &impl serde::Serialize) -> usize {
    serde_json::to_vec(item).map_or(usize::MAX, |json| json.len())
}

/// The item that stands for the objects left out: applied only if all of them are, and as healthy as the worst.
fn omitted_resources(omitted: &[ResourceStatus]) -> ResourceStatus {
    let worst = omitted.iter().map(|one| &one.health).max_by_key(|health| health.status);
    ResourceStatus {
        ordinal: omitted.first().map_or(u32::MAX, |first| first.ordinal),
        object: ObjectRef { kind: "Object".to_owned(), name: mark(omitted.len()), ..ObjectRef::default() },
        applied: omitted.iter().all(|one| one.applied),
        health: worst.cloned().unwrap_or_default(),
        ..ResourceStatus::default()
    }
}

fn truncate_object(object: &mut ObjectRef) {
    let ObjectRef { group, version, kind, namespace, name } = object;
    shorten_names([group, version, kind, namespace, name]);
}

fn truncate_health(health: &mut Health) {
    truncate_text(&mut health.reason, MAX_NAME_BYTES);
    truncate_text(&mut health.message, MAX_TEXT_BYTES);
}

fn truncate_stage(state: &mut StageState) {
    match state {
        StageState::Skipped { message } | StageState::Running { message } => {
            truncate_text(message, MAX_TEXT_BYTES);
        }
        StageState::Waiting(why) | StageState::Failed(why) => {
            truncate_text(&mut why.message, MAX_TEXT_BYTES);
            if let Reason::Other(text) = &mut why.reason {
                truncate_text(text, MAX_NAME_BYTES);
            }
        }
        StageState::Pending | StageState::Done => {}
    }
}

/// A cluster reports neither fixes of the source nor other clusters.
fn truncate_finding(finding: &mut Finding) {
    (finding.clusters, finding.location, finding.fix) = (Vec::new(), None, None);
    for name in [&mut finding.code, &mut finding.object] {
        truncate_text(name, MAX_NAME_BYTES * 2);
    }
    for text in [&mut finding.path, &mut finding.message, &mut finding.hint] {
        truncate_text(text, MAX_TEXT_BYTES);
    }
}

/// Truncates a list of drifted fields and their values; the last one counts those left out.
fn truncate_fields(fields: &mut Vec<DriftedField>) {
    if fields.len() > MAX_FIELDS {
        let omitted = fields.split_off(MAX_FIELDS - 1);
        fields.push(DriftedField::from_path(mark(omitted.len())));
    }
    for DriftedField { path, applied, live, manager, operation, changed_at: _ } in fields {
        shorten_names([path, manager, operation]);
        [applied, live].into_iter().flatten().for_each(truncate_value);
    }
}

/// A value that is longer than [`MAX_FIELD_VALUE_BYTES`] becomes the beginning of its text.
fn truncate_value(value: &mut serde_json::Value) {
    if serialized_length(value) > MAX_FIELD_VALUE_BYTES {
        let mut text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // Characters that JSON escapes count several times.
        truncate_text(&mut text, MAX_FIELD_VALUE_BYTES / 8);
        *value = text.into();
    }
}

/// Truncates a list of causes and their texts; the last one counts those left out.
fn truncate_causes(causes: &mut Vec<FailureCause>) {
    if causes.len() > MAX_CAUSES {
        let omitted = causes.split_off(MAX_CAUSES - 1);
        causes.push(FailureCause::from_sentence(mark(omitted.len())));
    }
    for cause in causes {
        let FailureCause { reason, summary, detail, pod, container, .. } = cause;
        shorten_names([reason, pod, container]);
        truncate_text(summary, MAX_TEXT_BYTES);
        truncate_text(detail, MAX_TEXT_BYTES);
    }
}

fn truncate_feedback(feedback: &mut Feedback) {
    truncate_text(&mut feedback.name, MAX_NAME_BYTES);
    truncate_text(&mut feedback.problem, MAX_TEXT_BYTES);
    // The engine reports values of at most a quarter of this.
    if feedback.value.to_string().len() > MAX_FEEDBACK_BYTES * 4 {
        feedback.value = serde_json::Value::Null;
        feedback.problem = format!("The value is longer than {} bytes.", MAX_FEEDBACK_BYTES * 4);
    }
}

impl ClusterFacts {
    /// Truncates its lists and texts to the limits.
    pub fn truncate(&mut self) {
        for text in [
            &mut self.kubernetes_version,
            &mut self.provider,
            &mut self.region,
            &mut self.default_storage_class,
            &mut self.default_ingress_class,
        ] {
            truncate_text(text, MAX_NAME_BYTES);
        }
        truncate_names(&mut self.zones, MAX_ZONES);
        truncate_names(&mut self.storage_classes, MAX_CLASSES);
        truncate_names(&mut self.ingress_classes, MAX_CLASSES);
        self.apis.truncate(MAX_APIS);
        for api in &mut self.apis {
            shorten_names([&mut api.group, &mut api.version, &mut api.kind]);
        }
        self.node_pools.truncate(MAX_NODE_POOLS);
        for pool in &mut self.node_pools {
            shorten_names([&mut pool.architecture, &mut pool.os]);
        }
        self.namespaces.truncate(MAX_NAMESPACES);
        self.namespaces.iter_mut().for_each(truncate_namespace);
        limit_namespaces(self);
    }
}

/// Leaves out the lists of the namespaces where the facts are too large together, because a list that is not complete is not known, and then
/// the last namespaces, which are not known either.
fn limit_namespaces(facts: &mut ClusterFacts) {
    let fits = |size: JsonSize| size.values <= MAX_FACTS_VALUES && size.bytes <= MAX_FACTS_BYTES;
    if fits(JsonSize::of_serialized(facts)) {
        return;
    }
    let mut namespaces = std::mem::take(&mut facts.namespaces);
    // The list itself and the commas in it belong to the facts.
    let mut total = JsonSize::of_serialized(facts).and(JsonSize::of_text(br#","namespaces":[]"#));
    for namespace in &mut namespaces {
        (namespace.pull_accounts, namespace.granted, namespace.helm_releases) = (None, None, None);
    }
    let has_room = |namespace: &NamespaceFacts| {
        total =
            total.and(JsonSize::of_serialized(namespace)).and(JsonSize { bytes: 1, ..JsonSize::default() });
        fits(total)
    };
    facts.namespaces = namespaces.into_iter().take_while(has_room).collect();
}

fn truncate_namespace(namespace: &mut NamespaceFacts) {
    truncate_text(&mut namespace.name, MAX_NAME_BYTES);
    truncate_text(&mut namespace.pod_security, MAX_NAME_BYTES);
    for names in [&mut namespace.pull_accounts, &mut namespace.granted] {
        // A list that is not complete is not known.
        if names.as_ref().is_some_and(|names| names.len() > MAX_GRANTED) {
            *names = None;
        }
        names.iter_mut().for_each(|names| truncate_names(names, MAX_GRANTED));
    }
    // A list that is not complete is not known.
    namespace.helm_releases = namespace.helm_releases.take().filter(|list| list.len() <= MAX_HELM_RELEASES);
    for release in namespace.helm_releases.iter_mut().flatten() {
        shorten_names([&mut release.name, &mut release.status, &mut release.workload]);
    }
    namespace.quotas.truncate(MAX_QUOTAS);
    for quota in &mut namespace.quotas {
        truncate_text(&mut quota.name, MAX_NAME_BYTES);
        for amounts in [&mut quota.hard, &mut quota.used] {
            while amounts.len() > MAX_VALUES {
                amounts.pop_last();
            }
            amounts.retain(|name, _| name.len() <= MAX_NAME_BYTES);
        }
    }
}

fn shorten_names<const N: usize>(names: [&mut String; N]) {
    for name in names {
        truncate_text(name, MAX_NAME_BYTES);
    }
}

/// The item that stands for this many items left out.
pub(crate) fn mark(omitted: usize) -> String {
    format!("… {omitted} more")
}

/// How many items the last text of a truncated list stands for; `None` if it is an item of the list.
pub fn omitted_count(text: &str) -> Option<u32> {
    text.strip_prefix("… ")?.strip_suffix(" more")?.parse().ok()
}

/// Whether a value of a drifted field may be the beginning of a longer one.
pub fn is_truncated_value(value: &serde_json::Value) -> bool {
    value.as_str().is_some_and(|text| text.len() <= MAX_FIELD_VALUE_BYTES / 8 && text.ends_with('…'))
}

/// Whether a name or a path may be the beginning of a longer one.
pub fn is_truncated_name(text: &str) -> bool {
    // The mark has three bytes, and a text is cut between characters.
    (MAX_NAME_BYTES - 6..=MAX_NAME_BYTES).contains(&text.len()) && text.ends_with('…')
}

fn truncate_names(names: &mut Vec<String>, max: usize) {
    truncate_texts(names, max, MAX_NAME_BYTES);
}

/// Truncates a list to `max` texts of `max_bytes`; the last one counts those left out.
fn truncate_texts(texts: &mut Vec<String>, max: usize, max_bytes: usize) {
    if texts.len() > max {
        let omitted = texts.len() - (max - 1);
        texts.truncate(max - 1);
        texts.push(mark(omitted));
    }
    texts.iter_mut().for_each(|text| truncate_text(text, max_bytes));
}

/// Truncates a text to `max` bytes, with `…` at its end, and replaces what can't be stored.
pub fn truncate_text(text: &mut String, max: usize) {
    const MARK: char = '…';
    null_character::replace(text);
    if text.len() > max {
        let end = text.floor_char_boundary(max.saturating_sub(MARK.len_utf8()));
        text.truncate(end);
        text.push(MARK);
    }
}

#[cfg(test)]
mod tests;
