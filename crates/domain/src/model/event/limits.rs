//! Limits of events: texts and lists of agents and users are cut when an event is stored, and again when one is read that was stored
//! before the limits (P19).
//!
//! What is left out of a list is counted by its last item, as `… 4211 more`. The audit log has the complete details of changes by users.

use serde_json::Value;

use super::detail::{ClusterChanges, DriftDetail, EventDetail};
use super::{Event, NewEvent};
use crate::kubernetes::object::ObjectRef;
use crate::model::cluster::PendingFact;
use crate::model::report::DriftedField;
use crate::model::report::limits::{MAX_NAME_BYTES, MAX_TEXT_BYTES, mark, serialized_length, truncate_text};

/// The most bytes of the detail of an event, as JSON.
pub const MAX_DETAIL_BYTES: usize = 8 << 10;
/// The most bytes of the sentence of an event: a text of a report, and what it is about.
pub const MAX_MESSAGE_BYTES: usize = MAX_TEXT_BYTES + 1_024;

/// What a detail that is too long is cut to, one after the other until it fits: so many items of each list, so many bytes of each name.
const CUTS: [(usize, usize); 4] = [(50, 512), (20, 256), (10, 64), (3, 24)];
/// A sentence in a detail has so many times the bytes of a name.
const SENTENCE_NAMES: usize = 4;
/// A long value becomes the beginning of its text; characters that JSON escapes count several times.
const ESCAPED_BYTES: usize = 8;
/// The bytes of the note that a detail is left out.
const NOTE_BYTES: usize = 100;

impl NewEvent {
    /// The same event within the limits.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        truncate_parts(&mut self.actor, &mut self.message, &mut self.detail);
        self
    }
}

impl Event {
    /// The same event within the limits.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        truncate_parts(&mut self.actor, &mut self.message, &mut self.detail);
        self
    }
}

fn truncate_parts(actor: &mut String, message: &mut String, detail: &mut Option<EventDetail>) {
    shorten(actor, MAX_NAME_BYTES);
    shorten(message, MAX_MESSAGE_BYTES);
    let Some(whole) = detail.as_ref() else { return };
    let length = serialized_length(whole);
    if length <= MAX_DETAIL_BYTES {
        return;
    }
    let fitting = CUTS
        .into_iter()
        .map(|(items, bytes)| cut_detail(whole, items, bytes))
        .find(|cut| serialized_length(cut) <= MAX_DETAIL_BYTES);
    if fitting.is_none() {
        shorten(message, MAX_MESSAGE_BYTES - NOTE_BYTES);
        message.push_str(&format!(" The details are left out: they have {length} bytes."));
    }
    *detail = fitting;
}

/// The detail with at most so many items of each list, and so many bytes of each name.
fn cut_detail(detail: &EventDetail, items: usize, bytes: usize) -> EventDetail {
    let mut cut = detail.clone();
    match &mut cut {
        EventDetail::Published { message, forced, .. } => {
            shorten(message, bytes * SENTENCE_NAMES);
            cut_names(forced, items, bytes);
        }
        EventDetail::ReleaseState { message, .. } | EventDetail::ApiServer { message, .. } => {
            shorten(message, bytes * SENTENCE_NAMES);
        }
        EventDetail::RemovalsPending { clusters } | EventDetail::RemovalsCancelled { clusters } => {
            cut_names(clusters, items, bytes);
        }
        EventDetail::ClusterGroup { name, joined, left, .. } => {
            shorten(name, bytes);
            cut_names(joined, items, bytes);
            cut_names(left, items, bytes);
        }
        EventDetail::Drift(drift) => cut_drift(drift, items, bytes),
        EventDetail::ClusterChanges(changes) => cut_changes(changes, items, bytes),
        EventDetail::FactsPending { facts } | EventDetail::FactsConfirmed { facts } => {
            cut_facts(facts, bytes)
        }
        EventDetail::JoinAccepted { fingerprint, facts } => {
            shorten(fingerprint, bytes);
            cut_facts(facts, bytes);
        }
        EventDetail::KubernetesVersion { from: one, to: other }
        | EventDetail::JoinRequested { name: one, fingerprint: other } => {
            shorten(one, bytes);
            shorten(other, bytes);
        }
        EventDetail::Override { name: text, .. }
        | EventDetail::JoinRejected { name: text }
        | EventDetail::AgentConnected { version: text }
        | EventDetail::JoinTokenCreated { cluster_name: Some(text), .. } => shorten(text, bytes),
        // Numbers, names of states and ids.
        EventDetail::RolledBack { .. }
        | EventDetail::SyncRequested { .. }
        | EventDetail::Placement { .. }
        | EventDetail::RemovalsWithheld { .. }
        | EventDetail::Rollout { .. }
        | EventDetail::CleanedUp { .. }
        | EventDetail::Connectivity { .. }
        | EventDetail::CertificateRenewed { .. }
        | EventDetail::ClusterDeleted { .. }
        | EventDetail::JoinTokenCreated { cluster_name: None, .. }
        | EventDetail::JoinTokenRevoked { .. } => {}
    }
    cut
}

fn cut_drift(drift: &mut DriftDetail, items: usize, bytes: usize) {
    let ObjectRef { group, version, kind, namespace, name } = &mut drift.object;
    for text in [group, version, kind, namespace, name, &mut drift.manager] {
        shorten(text, bytes);
    }
    cut_names(&mut drift.fields, items, bytes);
    cut_list(&mut drift.values, items, |field| &field.path, DriftedField::from_path);
    for DriftedField { path, applied, live, manager, operation, changed_at: _ } in &mut drift.values {
        shorten(path, bytes);
        shorten(operation, bytes);
        shorten(manager, bytes);
        [applied, live].into_iter().flatten().for_each(|value| cut_value(value, bytes));
    }
}

fn cut_changes(changes: &mut ClusterChanges, items: usize, bytes: usize) {
    let ClusterChanges { set_labels, removed_labels, taints, annotations, more, .. } = changes;
    let mut omitted = 0_u32;
    while set_labels.len() > items {
        set_labels.pop_last();
        omitted = omitted.saturating_add(1);
    }
    set_labels.values_mut().for_each(|value| shorten(value, bytes));
    if let Some(taints) = taints {
        omitted =
            omitted.saturating_add(u32::try_from(taints.len().saturating_sub(items)).unwrap_or(u32::MAX));
        taints.truncate(items);
    }
    *more = more.saturating_add(omitted);
    cut_names(removed_labels, items, bytes);
    cut_names(annotations, items, bytes);
}

/// There are few kinds of facts, and each is in the list once.
fn cut_facts(facts: &mut [PendingFact], bytes: usize) {
    for PendingFact { confirmed, reported, .. } in facts {
        shorten(confirmed, bytes);
        shorten(reported, bytes);
    }
}

fn cut_names(names: &mut Vec<String>, items: usize, bytes: usize) {
    cut_list(names, items, |name| name, |mark| mark);
    names.iter_mut().for_each(|name| shorten(name, bytes));
}

/// Cuts a list to so many items, of which the last one counts those left out. The last item of a list that was cut before is such a count.
fn cut_list<T>(list: &mut Vec<T>, items: usize, text: impl Fn(&T) -> &str, stand_in: impl Fn(String) -> T) {
    if list.len() <= items {
        return;
    }
    let retained = items.saturating_sub(1);
    let counted = list.last().and_then(|last| read_mark(text(last))).unwrap_or(1);
    let omitted = (list.len() - retained - 1).saturating_add(counted);
    list.truncate(retained);
    list.push(stand_in(mark(omitted)));
}

/// The number in `… 120 more`.
pub(super) fn read_mark(text: &str) -> Option<usize> {
    text.strip_prefix("… ")?.strip_suffix(" more")?.parse().ok()
}

fn cut_value(value: &mut Value, bytes: usize) {
    if serialized_length(value) > bytes {
        let mut text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        shorten(&mut text, bytes / ESCAPED_BYTES);
        *value = text.into();
    }
}

fn shorten(text: &mut String, max: usize) {
    if text.len() > max {
        truncate_text(text, max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::cluster::{Taint, TaintEffect};
    use crate::model::event::{EditAction, EventSubject};
    use crate::model::report::DriftOutcome;

    fn event(detail: EventDetail) -> NewEvent {
        let subject = EventSubject::cluster(ClusterId::from_parts(1, 1), "edge-1");
        NewEvent::from_detail(detail, "ana", subject, Timestamp::default())
    }

    fn group(joined: usize) -> EventDetail {
        let names = |count: usize| (0..count).map(|number| format!("cluster-{number:05}")).collect();
        EventDetail::ClusterGroup {
            name: "eu".to_owned(),
            action: EditAction::Saved,
            joined: names(joined),
            left: Vec::new(),
        }
    }

    #[test]
    fn p19_a_long_list_of_an_event_is_cut_and_its_last_item_and_its_message_count_the_others() {
        let cut = event(group(5_000)).truncated();
        let Some(EventDetail::ClusterGroup { joined, left, .. }) = &cut.detail else { panic!("{cut:?}") };
        assert_eq!(
            (joined.len(), joined[48].as_str(), joined[49].as_str()),
            (50, "cluster-00048", "… 4951 more")
        );
        assert!(left.is_empty());
        assert!(cut.message.ends_with("cluster-00009 and 4990 more joined."), "{}", cut.message);
        assert_eq!(cut.clone().truncated(), cut, "what was cut before stays as it is");
        let usual = event(group(100));
        assert_eq!(usual.clone().truncated(), usual, "a list that fits is complete");
    }

    #[test]
    fn p19_the_drift_that_an_agent_reports_is_cut_until_it_fits_and_its_counts_are_added() {
        let field = |number: usize| DriftedField {
            path: format!("/{number}{}", "\u{1}".repeat(500)),
            applied: Some("\u{1}".repeat(1_000).into()),
            live: Some(serde_json::json!(vec![0; 500])),
            manager: "\u{1}".repeat(500),
            ..DriftedField::default()
        };
        let mut values: Vec<DriftedField> = (0..49).map(field).collect();
        values.push(DriftedField::from_path("… 120 more"));
        let drift = DriftDetail {
            object: ObjectRef {
                kind: "ConfigMap".to_owned(),
                name: "\u{1}".repeat(500),
                ..ObjectRef::default()
            },
            fields: values.iter().map(|field| field.path.clone()).collect(),
            values,
            manager: "\u{1}".repeat(512),
            outcome: DriftOutcome::Found,
            more: 7,
        };
        let cut = event(EventDetail::Drift(drift)).truncated();
        let Some(EventDetail::Drift(drift)) = &cut.detail else { panic!("{cut:?}") };
        assert!(serialized_length(drift) <= MAX_DETAIL_BYTES);
        let omitted = 50 - drift.fields.len() + 120;
        assert!(drift.fields.len() < 50);
        assert_eq!(drift.fields.last(), Some(&format!("… {omitted} more")));
        assert_eq!(drift.values.last().map(|field| &field.path), drift.fields.last());
        assert_eq!((drift.more, drift.object.kind.as_str()), (7, "ConfigMap"));
        assert!(cut.message.len() <= MAX_MESSAGE_BYTES && cut.message.ends_with('…'));
    }

    #[test]
    fn p19_labels_and_taints_that_do_not_fit_are_counted() {
        let taint = |number: usize| Taint {
            key: format!("{}-{number}", "k".repeat(200)),
            value: String::new(),
            effect: TaintEffect::NoSelect,
        };
        let changes = ClusterChanges {
            set_labels: (0..30).map(|number| (format!("label-{number:02}"), "v".repeat(60))).collect(),
            taints: Some((0..50).map(taint).collect()),
            ..ClusterChanges::default()
        };
        let cut = event(EventDetail::ClusterChanges(changes)).truncated();
        let Some(EventDetail::ClusterChanges(changes)) = &cut.detail else { panic!("{cut:?}") };
        let shown = changes.set_labels.len() + changes.taints.as_ref().map_or(0, Vec::len);
        assert!(serialized_length(changes) <= MAX_DETAIL_BYTES);
        assert_eq!(u32::try_from(80 - shown), Ok(changes.more));
        assert!(changes.more > 0);
    }

    #[test]
    fn p19_the_texts_of_an_event_are_cut_with_a_mark() {
        let long = NewEvent::new(
            crate::model::event::EventKind::WorkloadEdited,
            &"a".repeat(600),
            "ä".repeat(9_000),
        );
        let cut = long.truncated();
        assert!(cut.message.len() <= MAX_MESSAGE_BYTES && cut.message.ends_with('…'));
        assert!(cut.actor.len() <= MAX_NAME_BYTES && cut.actor.ends_with('…'));
    }
}
