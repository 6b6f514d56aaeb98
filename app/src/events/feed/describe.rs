//! The words of an entry.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::{DriftDetail, EditAction, Event, EventDetail, EventKind};
use domain::release::ReleaseState;
use domain::report::{DriftOutcome, DriftedField};
use domain::time::format_duration;

use super::group::{EventGroup, NO_PERSON, is_recovery, transition};
use super::{EventSummary, FeedEntry};
use crate::components::{join_names, pluralize};
use crate::paths;

/// Most clusters that an entry names.
const NAMES_MAX: usize = 3;

/// Subject, text and detail.
struct Words {
    subject: String,
    clusters: String,
    text: String,
    detail: String,
}

/// The entry of a group.
pub fn entry(group: &EventGroup<'_>) -> FeedEntry {
    let Words { subject, clusters, text, detail } = describe_group(group);
    let steps = if group.events.len() > 1 {
        group.events.iter().map(|event| step(event, &subject)).collect()
    } else {
        Vec::new()
    };
    FeedEntry {
        event: headline(group),
        at: group.first().at,
        subject,
        clusters,
        text,
        detail,
        names: list_names(group),
        steps,
    }
}

/// The event with the icon and the address of the entry: the worst current state, else the newest event.
fn headline(group: &EventGroup<'_>) -> EventSummary {
    if group.is_join() {
        let several = count_clusters(group) > 1;
        let first = EventSummary::from_event(group.first());
        return if several { EventSummary { href: paths::CLUSTERS.to_owned(), ..first } } else { first };
    }
    let worst = group.latest_states().into_values().max_by_key(|(_, state)| *state);
    match worst {
        Some((_, state)) if group.is_publish() && !state.is_failing() => {
            EventSummary { state: Some(state), ..EventSummary::from_event(group.first()) }
        }
        Some((event, _)) => EventSummary::from_event(event),
        None if group.is_publish() => EventSummary::from_event(group.first()),
        None => EventSummary::from_event(group.last()),
    }
}

/// One event of a group, with a short message.
fn step(event: &Event, subject: &str) -> EventSummary {
    let words = describe_event(event, &event.cluster_name, 1);
    let subject = if words.subject == subject { "" } else { &words.subject };
    let head = [subject, &words.clusters, &words.text].into_iter().filter(|part| !part.is_empty());
    let head = head.collect::<Vec<_>>().join(" ");
    let message = join(&[&head, &words.detail]);
    EventSummary { message, ..EventSummary::from_event(event) }
}

/// The names of clusters and workloads with their pages.
fn list_names(group: &EventGroup<'_>) -> Vec<(String, String)> {
    let mut names = BTreeMap::new();
    for event in &group.events {
        let (workload, cluster) = (&event.workload_name, &event.cluster_name);
        if !cluster.is_empty() && event.cluster.is_some() {
            let page =
                if workload.is_empty() { paths::cluster(cluster) } else { paths::release(workload, cluster) };
            names.insert(cluster.clone(), page);
        }
        if !workload.is_empty() && event.kind != EventKind::WorkloadDeleted {
            names.insert(workload.clone(), paths::workload(workload));
        }
    }
    names.into_iter().collect()
}

fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

/// The names, sorted.
fn join_clusters<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    if names.is_empty() { String::new() } else { join_names(&names, names.len(), NAMES_MAX) }
}

fn describe_group(group: &EventGroup<'_>) -> Words {
    let (first, last, count) = (group.first(), group.last(), group.events.len());
    let clusters = join_clusters(group.events.iter().map(|event| event.cluster_name.as_str()));
    match first.kind {
        EventKind::ReleaseChanged => describe_transitions(group, clusters),
        EventKind::WorkloadPublished if count > 1 => {
            let words = describe_event(first, "", 1);
            Words { detail: join(&[&words.detail, &describe_outcome(group)]), ..words }
        }
        EventKind::ClusterConnectivity if count > 1 => describe_outage(group),
        _ if group.is_join() && count > 1 => describe_join(group, clusters),
        EventKind::PlacementDecided if count > 1 => {
            let workloads: BTreeSet<&str> =
                group.events.iter().map(|event| event.workload_name.as_str()).collect();
            match u32::try_from(workloads.len()).unwrap_or(u32::MAX) {
                0 | 1 => describe_event(last, &clusters, count),
                many => Words {
                    subject: String::new(),
                    clusters: String::new(),
                    text: format!("Placement of {} decided again", pluralize(many, "workload")),
                    detail: join_clusters(workloads.into_iter()),
                },
            }
        }
        _ => describe_event(last, &clusters, count),
    }
}

/// The number of clusters that a group is about.
fn count_clusters(group: &EventGroup<'_>) -> u32 {
    let names: BTreeSet<&str> = group.events.iter().map(|event| event.cluster_name.as_str()).collect();
    u32::try_from(names.len()).unwrap_or(u32::MAX)
}

/// Clusters that joined: `eu-1 joined`, or `5 clusters joined` with their names.
fn describe_join(group: &EventGroup<'_>, clusters: String) -> Words {
    let first = group.first();
    let actor = if first.actor == NO_PERSON { "" } else { &first.actor };
    match count_clusters(group) {
        0 | 1 => Words {
            subject: first.cluster_name.clone(),
            clusters: String::new(),
            text: "joined".to_owned(),
            detail: actor.to_owned(),
        },
        many => Words {
            subject: String::new(),
            clusters: String::new(),
            text: format!("{} joined", pluralize(many, "cluster")),
            detail: join(&[&clusters, actor]),
        },
    }
}

/// Transitions of one workload: from the first to the last state, or how many clusters are in which state.
fn describe_transitions(group: &EventGroup<'_>, clusters: String) -> Words {
    let latest = group.latest_states();
    let message =
        latest.values().max_by_key(|(_, state)| *state).map(|(event, _)| reason(event)).unwrap_or_default();
    let mut begun: BTreeMap<&str, ReleaseState> = BTreeMap::new();
    for event in &group.events {
        if let Some((from, _)) = transition(event) {
            begun.entry(event.cluster_name.as_str()).or_insert(from);
        }
    }
    let ways: BTreeSet<(ReleaseState, ReleaseState)> =
        latest.iter().filter_map(|(cluster, (_, to))| Some((*begun.get(cluster)?, *to))).collect();
    let took = group.last().at.millis_since(group.first().at);
    let text = match ways.iter().copied().collect::<Vec<_>>()[..] {
        [(from, to)] if from == to => format!("{} again after {}", to.label(), format_duration(took)),
        [(from, to)] => format!("{} → {}", from.label(), to.label()),
        _ => {
            let mut counts: BTreeMap<ReleaseState, u32> = BTreeMap::new();
            for (_, state) in latest.values() {
                *counts.entry(*state).or_default() += 1;
            }
            let counts = counts.iter().rev().map(|(state, count)| format!("{count} {}", state.label()));
            counts.collect::<Vec<_>>().join(", ")
        }
    };
    Words { subject: group.first().workload_name.clone(), clusters, text, detail: message }
}

/// Why a release is in its state.
fn reason(event: &Event) -> String {
    match &event.detail {
        Some(EventDetail::ReleaseState { message, .. }) => message.trim_end_matches('.').to_owned(),
        _ => String::new(),
    }
}

/// `healthy on 5 clusters after 14 s`, `1 of 4 failing: eu-west-2 · cannot pull image`.
fn describe_outcome(group: &EventGroup<'_>) -> String {
    use domain::rollout::{RolloutEvent, RolloutState};
    let latest = group.latest_states();
    let all = u32::try_from(latest.len()).unwrap_or(u32::MAX);
    let failing: Vec<&Event> =
        latest.values().filter(|(_, state)| state.is_failing()).map(|(event, _)| *event).collect();
    let healthy = latest
        .values()
        .filter(|(_, state)| matches!(state, ReleaseState::Healthy | ReleaseState::NotAssessed));
    let healthy = u32::try_from(healthy.count()).unwrap_or(u32::MAX);
    let end = |event: &&Event| match &event.detail {
        Some(EventDetail::Rollout { change: RolloutEvent::StateChanged { to, .. }, .. }) => match to {
            RolloutState::Completed => Some("rollout completed"),
            RolloutState::RolledBack { .. } => Some("rollout rolled back"),
            _ => None,
        },
        _ => None,
    };
    let completed = group.events.iter().find_map(end).unwrap_or("");
    let outcome = match failing.first() {
        Some(first) => {
            let names = join_clusters(failing.iter().map(|event| event.cluster_name.as_str()));
            join(&[&format!("{} of {all} failing: {names}", failing.len()), &reason(first)])
        }
        None if all == 0 => String::new(),
        None if healthy == all => {
            let end = latest.values().map(|(event, _)| event.at).max().unwrap_or_default();
            let took = format_duration(end.millis_since(group.first().at));
            format!("healthy on {} after {took}", pluralize(all, "cluster"))
        }
        None => format!("healthy on {healthy} of {all}"),
    };
    join(&[&outcome, completed])
}

/// The outage of a cluster: how long it was, or why it lasts.
fn describe_outage(group: &EventGroup<'_>) -> Words {
    use domain::cluster::Connectivity;
    let has = |matches: fn(&EventDetail) -> bool| {
        group.events.iter().any(|event| event.detail.as_ref().is_some_and(matches))
    };
    let is_offline =
        has(|detail| matches!(detail, EventDetail::Connectivity { to: Connectivity::Offline, .. }));
    let is_silent = has(|detail| matches!(detail, EventDetail::ApiServer { responds: false, .. }));
    let (was, is) = match (is_offline, is_silent) {
        (true, _) => ("was offline", "is offline"),
        (false, true) => {
            ("had an API server that did not respond", "has an API server that does not respond")
        }
        (false, false) => ("was late", "is late"),
    };
    let why = group.events.iter().rev().find_map(|event| match &event.detail {
        Some(EventDetail::ApiServer { responds: false, message }) => {
            Some(message.trim_end_matches('.').to_owned())
        }
        _ => None,
    });
    let (first, last) = (group.first(), group.last());
    let is_over = is_recovery(last);
    let text = match is_over {
        true if is_recovery(first) => "is online again".to_owned(),
        true => format!("{was} for {}", format_duration(last.at.millis_since(first.at))),
        false => is.to_owned(),
    };
    let detail = why.filter(|_| !is_over).unwrap_or_default();
    Words { subject: first.cluster_name.clone(), clusters: String::new(), text, detail }
}

/// One event, or `count` equal ones on these clusters.
fn describe_event(event: &Event, clusters: &str, count: usize) -> Words {
    let times = if count > 1 { format!("{count} times") } else { String::new() };
    let actor = if event.actor == NO_PERSON { "" } else { &event.actor };
    let of_workload = |clusters: &str, text: String, detail: String| Words {
        subject: event.workload_name.clone(),
        clusters: clusters.to_owned(),
        text,
        detail,
    };
    match &event.detail {
        Some(EventDetail::ReleaseState { from, to, .. }) => {
            of_workload(clusters, format!("{} → {}", from.label(), to.label()), reason(event))
        }
        Some(EventDetail::Drift(drift)) => {
            let (text, detail) = describe_drift(drift);
            of_workload(clusters, text.to_owned(), join(&[&detail, &times]))
        }
        Some(EventDetail::Published { revision, message, forced }) => {
            let forced =
                if forced.is_empty() { String::new() } else { format!("{} forced", forced.join(", ")) };
            of_workload("", format!("r{revision} published"), join(&[actor, message, &forced]))
        }
        Some(EventDetail::Override { name, action }) => {
            let action = match action {
                EditAction::Saved => "saved",
                EditAction::Deleted => "deleted",
            };
            of_workload("", format!("override {name} {action}"), join(&[actor, &times]))
        }
        _ => {
            let subject =
                if event.workload_name.is_empty() { &event.cluster_name } else { &event.workload_name };
            let (message, incident) = split_incident(event);
            let rest = message.strip_prefix("Cluster ").unwrap_or(message).strip_prefix(subject.as_str());
            let rest = rest.filter(|rest| rest.starts_with(' ') && !subject.is_empty());
            let (subject, text) = match rest {
                Some(rest) => (subject.clone(), rest.trim_start().to_owned()),
                None => (String::new(), message.to_owned()),
            };
            Words { subject, clusters: String::new(), text, detail: join(&[&incident, actor, &times]) }
        }
    }
}

/// The message of an event without its last dot, and of an incident: what is said of its workload, and what became of the incident with
/// its cause.
fn split_incident(event: &Event) -> (&str, String) {
    let message = event.message.trim_end_matches('.');
    let words = [
        (EventKind::IncidentOpened, "An incident was opened: ", "incident opened"),
        (EventKind::IncidentAcknowledged, "The incident was acknowledged: ", "incident acknowledged"),
        (EventKind::IncidentClosed, "The incident was closed: ", "incident closed"),
    ];
    let found = words.into_iter().find(|(kind, ..)| *kind == event.kind);
    let Some((_, prefix, word)) = found else { return (message, String::new()) };
    let Some(rest) = message.strip_prefix(prefix) else { return (message, String::new()) };
    let (headline, cause) = rest.split_once(". ").unwrap_or((rest, ""));
    (headline, join(&[word, cause]))
}

/// Between the two values of a change.
const ARROW: &str = " → ";

/// `drifted`, and `replicas 2 → 5 · changed by kubectl-edit`; a revert goes the other way: `replicas 5 → 2`.
fn describe_drift(drift: &DriftDetail) -> (&'static str, String) {
    let text = match drift.outcome {
        DriftOutcome::Found => "drifted",
        DriftOutcome::Healed => "drift reverted",
        DriftOutcome::Contested => "drifts again and again",
    };
    let by = if drift.manager.is_empty() { String::new() } else { format!("changed by {}", drift.manager) };
    let field = |path: &String| {
        let change = drift.values.iter().find(|field| field.path == *path);
        let change =
            change.and_then(DriftedField::short_change).map(|change| match change.split_once(ARROW) {
                Some((applied, live)) if drift.outcome == DriftOutcome::Healed => {
                    format!("{live}{ARROW}{applied}")
                }
                _ => change,
            });
        let name = path.rsplit('/').next().unwrap_or_default();
        change.map_or_else(|| name.to_owned(), |change| format!("{name} {change}"))
    };
    let fields = if drift.fields.is_empty() {
        format!("{} {} deleted", drift.object.kind, drift.object.name)
    } else {
        drift.fields.iter().map(field).collect::<Vec<_>>().join(", ")
    };
    (text, join(&[&fields, &by]))
}
