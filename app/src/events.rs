//! The event log, newest first.

use domain::Timestamp;
use domain::event::{Event, EventDetail, EventKind};
use domain::finding::Severity;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::components::Form;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{Age, Empty, StatusStyle, icon_sized, render_resource, search_field};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;

/// Number of events on one page.
const PAGE_SIZE: u32 = 50;

/// One page of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventList {
    /// Newest first.
    pub events: Vec<Event>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's one query. `before` is a position; names may be empty.
#[server(prefix = "/api/fn", endpoint = "events_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn events_read(workload: String, cluster: String, before: Option<i64>) -> AppResult<EventList> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let name = |text: String| (!text.is_empty()).then(|| text.chars().take(63).collect::<String>());
    let (workload, cluster) = (name(workload), name(cluster));
    let query = domain::request::EventQuery { before, workload, cluster, limit: Some(PAGE_SIZE) };
    let events = host::into_app_result(hub.list_events(&query).await)?;
    Ok(EventList { events, at: hub.clock().now() })
}

/// The page.
#[component]
pub fn EventsPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let before = move || part("before").parse::<i64>().ok();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = Resource::new(
        move || (part("workload"), part("cluster"), before(), version.get()),
        |(workload, cluster, before, _)| events_read(workload, cluster, before),
    );
    view! {
        <Title text="Events" />
        <div class="stack-md">
            <h1 class="title">"Events " <span class="title-rest">"What happened, newest first."</span></h1>
            <Form method="GET" action=paths::EVENTS>
                <div class="filter-bar">
                    {move || search_field("workload", "Workload", part("workload"))}
                    {move || filter_field("cluster", "Cluster", part("cluster"))}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                    {move || {
                        let any = !part("workload").is_empty() || !part("cluster").is_empty();
                        any.then(|| view! { <a class="btn btn-quiet" href=paths::EVENTS>"Show all"</a> })
                    }}
                </div>
            </Form>
            {render_resource(data, move |list| show_events(list, &part("workload"), &part("cluster"), before().is_some()).into_any())}
        </div>
    }
    .into_any()
}

fn filter_field(name: &'static str, label: &'static str, value: String) -> impl IntoView {
    view! { <input class="input input-mono max-w-60" type="search" name=name value=value placeholder=label aria-label=label autocomplete="off" /> }
}

fn show_events(list: EventList, workload: &str, cluster: &str, later: bool) -> impl IntoView {
    let at = list.at;
    let full = list.events.len() >= PAGE_SIZE as usize;
    let last = list.events.last().map(|event| event.seq.to_string()).filter(|_| full).unwrap_or_default();
    let here = [("workload", workload), ("cluster", cluster)];
    let first = later.then(|| paths::query(paths::EVENTS, &here));
    let next = (!last.is_empty()).then(|| {
        paths::query(paths::EVENTS, &[("workload", workload), ("cluster", cluster), ("before", &last)])
    });
    if list.events.is_empty() {
        return view! {
            <Empty title="No events" text="No event matches. The log has every publish, every change of a release, every drift repair and every change of a cluster." command="flotilla events" />
        }
        .into_any();
    }
    view! {
        <div class="list">
            {list.events.into_iter().map(|event| view! { <EventRow event=event at=at /> }).collect_view()}
        </div>
        <nav class="table-foot" aria-label="Pages">
            <span></span>
            <span class="flex gap-4">
                {first.map(|href| view! { <a class="link" href=href>"Newest"</a> })}
                {next.map(|href| view! { <a class="link" href=href rel="next">"Older"</a> })}
            </span>
        </nav>
    }
    .into_any()
}

/// One event: icon, message, names and actor, age.
#[component]
pub fn EventRow(
    /// The event.
    event: Event,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    let look = event_style(&event);
    let href = event_address(&event);
    let workload = unnamed_workload(&event).to_owned();
    let by = if workload.is_empty() { event.actor.clone() } else { format!(" · {}", event.actor) };
    view! {
        <a class=format!("list-row items-start py-2 {}", look.hue) href=href>
            {icon_sized(look.icon, "icon icon-16")}
            <span class="list-main">
                <span class="text-ink">{event.message.clone()}</span>
                <span class="meta">
                    <span class="mono">{workload}</span>
                    {by}
                </span>
            </span>
            <span class="list-end meta">
                <Age since=event.at at=at />
            </span>
        </a>
    }
    .into_any()
}

/// The workload of an event whose message does not name it; empty for the others. Every message about a cluster names it.
fn unnamed_workload(event: &Event) -> &str {
    let is_named = event.detail.as_ref().is_none_or(EventDetail::message_names_workload);
    if is_named { "" } else { &event.workload_name }
}

fn event_address(event: &Event) -> String {
    let gone = matches!(event.kind, EventKind::WorkloadDeleted | EventKind::ClusterDeleted);
    match (event.workload_name.as_str(), event.cluster_name.as_str()) {
        (workload, cluster) if !workload.is_empty() && !cluster.is_empty() && !gone => {
            paths::release(workload, cluster)
        }
        (workload, _) if !workload.is_empty() && !gone => paths::workload(workload),
        (_, cluster) if !cluster.is_empty() && !gone && event.cluster.is_some() => paths::cluster(cluster),
        _ => paths::EVENTS.to_owned(),
    }
}

fn event_style(event: &Event) -> StatusStyle {
    let quiet = |icon, hue| StatusStyle { icon, hue, emphasis: "state-quiet" };
    match &event.detail {
        Some(EventDetail::ReleaseState { to, .. }) => return StatusStyle::from_state(*to),
        Some(EventDetail::Connectivity { to, .. }) => return StatusStyle::from_connectivity(*to),
        _ => {}
    }
    match (event.severity, event.kind) {
        (Severity::Error | Severity::Warning, EventKind::DriftFound) => quiet("drifted", "hue-drifted"),
        (Severity::Error, _) => StatusStyle::from_severity(Severity::Error),
        (Severity::Warning, EventKind::ClusterConnectivity) => quiet("offline", "hue-unknown"),
        (Severity::Warning, _) => StatusStyle::from_severity(Severity::Warning),
        (Severity::Note, kind) => match kind {
            EventKind::WorkloadPublished => quiet("pending", "hue-progressing"),
            EventKind::WorkloadUnpublished | EventKind::WorkloadDeleting => {
                quiet("removing", "hue-progressing")
            }
            EventKind::WorkloadDeleted | EventKind::ReleaseCleanedUp => quiet("removed", "hue-unknown"),
            EventKind::DriftFound => quiet("drifted", "hue-drifted"),
            EventKind::DriftHealed => quiet("synced", "hue-healthy"),
            EventKind::ClusterConnectivity => quiet("online", "hue-healthy"),
            EventKind::ReleaseChanged | EventKind::RolloutChanged => quiet("progressing", "hue-progressing"),
            EventKind::WorkloadCreated
            | EventKind::ClusterRegistered
            | EventKind::ClusterAccepted
            | EventKind::JoinTokenCreated => quiet("plus", "hue-unknown"),
            EventKind::ClusterPending => quiet("pending", "hue-progressing"),
            EventKind::ClusterJoined => quiet("online", "hue-healthy"),
            EventKind::ClusterRejected
            | EventKind::ClusterRevoked
            | EventKind::ClusterDeleted
            | EventKind::JoinTokenRevoked => quiet("removed", "hue-unknown"),
            EventKind::ClusterRenewed => quiet("refresh", "hue-unknown"),
            EventKind::WorkloadSynced => quiet("refresh", "hue-unknown"),
            EventKind::ClusterFacts => quiet("note", "hue-unknown"),
            EventKind::WorkloadEdited
            | EventKind::PlacementDecided
            | EventKind::OverrideSaved
            | EventKind::ClusterEdited => quiet("edit", "hue-unknown"),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(workload: &str, message: &str, detail: serde_json::Value) -> Event {
        serde_json::from_value(json!({
            "seq": 1, "at": "2026-01-01T00:00:00Z", "kind": "driftHealed", "severity": "note", "actor": "flotilla",
            "workloadName": workload, "clusterName": "edge-1", "message": message, "detail": detail,
        }))
        .unwrap()
    }

    #[test]
    fn the_workload_is_shown_beside_a_message_that_does_not_name_it() {
        let object = json!({ "version": "v1", "kind": "ConfigMap", "namespace": "web", "name": "web" });
        let drift = json!({ "type": "drift", "object": object, "outcome": "healed" });
        // The name of the object contains the name of the workload.
        let event_of_object = event("web", "ConfigMap web/web was deleted on edge-1 and reverted.", drift);
        assert_eq!(unnamed_workload(&event_of_object), "web");
        let published = json!({ "type": "published", "revision": 1 });
        assert_eq!(unnamed_workload(&event("web", "web revision 1 was published.", published)), "");
    }
}
