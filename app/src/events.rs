//! The event log: what happened, newest first.

use domain::Timestamp;
use domain::event::{Event, EventKind};
use domain::finding::Severity;
use domain::release::State;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::components::Form;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{Age, Empty, Look, icon_sized, loaded, search_field};
use crate::errors::Answer;
use crate::live::{self, Topic};
use crate::paths;

/// Events on one page.
const PAGE: u32 = 50;

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
pub async fn events_read(workload: String, cluster: String, before: Option<i64>) -> Answer<EventList> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let name = |text: String| (!text.is_empty()).then(|| text.chars().take(63).collect::<String>());
    let query = hub::EventQuery { before, workload: name(workload), cluster: name(cluster), limit: PAGE };
    let events = host::answer(hub.event_list(&query).await)?;
    Ok(EventList { events, at: hub.clock().now() })
}

/// The page.
#[component]
pub fn EventsPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let before = move || part("before").parse::<i64>().ok();
    let version = live::version(|| Some(Topic::Fleet));
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
                    {move || filter("cluster", "Cluster", part("cluster"))}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                    {move || {
                        let any = !part("workload").is_empty() || !part("cluster").is_empty();
                        any.then(|| view! { <a class="btn btn-quiet" href=paths::EVENTS>"Show all"</a> })
                    }}
                </div>
            </Form>
            {loaded(data, move |list| show(list, &part("workload"), &part("cluster"), before().is_some()).into_any())}
        </div>
    }
    .into_any()
}

fn filter(name: &'static str, label: &'static str, value: String) -> impl IntoView {
    view! { <input class="input input-mono max-w-60" type="search" name=name value=value placeholder=label aria-label=label autocomplete="off" /> }
}

fn show(list: EventList, workload: &str, cluster: &str, later: bool) -> impl IntoView {
    let at = list.at;
    let full = list.events.len() >= PAGE as usize;
    let last = list.events.last().map(|event| event.seq.to_string()).filter(|_| full).unwrap_or_default();
    let here = [("workload", workload), ("cluster", cluster)];
    let first = later.then(|| paths::query(paths::EVENTS, &here));
    let next = (!last.is_empty()).then(|| {
        paths::query(paths::EVENTS, &[("workload", workload), ("cluster", cluster), ("before", &last)])
    });
    if list.events.is_empty() {
        return view! {
            <Empty title="Nothing here" text="No event matches. Publishing, healing, clusters that come and go: all of it is written here." command="flotilla events" />
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

/// One event: icon, sentence, who and where, age.
#[component]
pub fn EventRow(
    /// The event.
    event: Event,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    let look = look(&event);
    let href = address(&event);
    let place = place(&event);
    let by = if place.is_empty() { event.actor.clone() } else { format!(" · {}", event.actor) };
    view! {
        <a class=format!("list-row items-start py-2 {}", look.hue) href=href>
            {icon_sized(look.icon, "icon icon-16")}
            <span class="list-main">
                <span class="text-ink">{event.message.clone()}</span>
                <span class="meta">
                    <span class="mono">{place}</span>
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

/// Where it happened, unless the sentence says so itself.
fn place(event: &Event) -> String {
    let unsaid = |name: &str| (!event.message.contains(name)).then(|| name.to_owned());
    let names = [unsaid(&event.workload_name), unsaid(&event.cluster_name)];
    names.into_iter().flatten().collect::<Vec<_>>().join(" on ")
}

/// The state that a change of a release ended in, from its sentence: `web on east: Applying → Healthy.`
fn ended_in(event: &Event) -> Option<State> {
    let (_, after) = event.message.rsplit_once("→ ")?;
    State::from_word(after.split('.').next()?)
}

fn address(event: &Event) -> String {
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

fn look(event: &Event) -> Look {
    let quiet = |icon, hue| Look { icon, hue, loud: "state-quiet" };
    if let (EventKind::ReleaseChanged, Some(state)) = (event.kind, ended_in(event)) {
        return Look::of_state(state);
    }
    match (event.severity, event.kind) {
        (Severity::Error | Severity::Warning, EventKind::DriftFound) => quiet("drifted", "hue-drifted"),
        (Severity::Error, _) => Look::of_severity(Severity::Error),
        (Severity::Warning, EventKind::ClusterReach) => quiet("offline", "hue-unknown"),
        (Severity::Warning, _) => Look::of_severity(Severity::Warning),
        (Severity::Note, kind) => match kind {
            EventKind::WorkloadPublished => quiet("pending", "hue-progressing"),
            EventKind::WorkloadUnpublished | EventKind::WorkloadDeleting => {
                quiet("removing", "hue-progressing")
            }
            EventKind::WorkloadDeleted => quiet("removed", "hue-unknown"),
            EventKind::DriftFound => quiet("drifted", "hue-drifted"),
            EventKind::DriftHealed => quiet("synced", "hue-healthy"),
            EventKind::ClusterReach => quiet("online", "hue-healthy"),
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
