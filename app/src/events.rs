//! The event log, newest first.

use domain::Timestamp;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{Empty, FilterForm, render_resource, search_field};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

mod feed;
mod log;
mod names;
mod style;
mod summary;
mod tab;

pub use feed::FeedEntry;
#[cfg(feature = "ssr")]
pub use feed::fold_events;
pub use log::EventLog;
pub use style::event_style;
pub use summary::EventSummary;
pub use tab::{EventScope, EventsTab};

/// Number of events on one page. Most of them are steps of an entry.
#[cfg(feature = "ssr")]
const PAGE_SIZE: u32 = 200;

/// One page of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventList {
    /// Newest first.
    pub entries: Vec<FeedEntry>,
    /// The position where the next page begins; `None` on the last one.
    pub next: Option<i64>,
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
    let listed = host::into_app_result(hub.list_events(&query).await)?;
    Ok(EventList { entries: fold_events(&listed.events), next: listed.next, at: hub.clock().now() })
}

/// The page.
#[component]
pub fn EventsPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let before = move || part("before").parse::<i64>().ok();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (part("workload"), part("cluster"), before(), version.get()),
        |(workload, cluster, before, _)| events_read(workload, cluster, before),
    );
    view! {
        <Title text="Events" />
        <div class="stack-md">
            <h1 class="title">"Events " <span class="title-rest">"What happened, newest first."</span></h1>
            <FilterForm action=paths::EVENTS>
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
            </FilterForm>
            {render_resource(data, move |list| show_events(list, &part("workload"), &part("cluster"), before().is_some()).into_any())}
        </div>
    }
    .into_any()
}

fn filter_field(name: &'static str, label: &'static str, value: String) -> impl IntoView {
    view! { <input class="input input-mono sm:max-w-60" type="search" name=name value=value placeholder=label aria-label=label autocomplete="off" /> }
}

fn show_events(list: EventList, workload: &str, cluster: &str, later: bool) -> impl IntoView {
    let at = list.at;
    let here = [("workload", workload), ("cluster", cluster)];
    let first = later.then(|| paths::query(paths::EVENTS, &here));
    let next = list.next.map(|before| {
        let before = before.to_string();
        paths::query(paths::EVENTS, &[("workload", workload), ("cluster", cluster), ("before", &before)])
    });
    // Those of a page that can't be read are left out.
    if list.entries.is_empty() && next.is_none() {
        return view! {
            <Empty title="No events" text="No event matches. The log has every publish, every change of a release, every drift repair and every change of a cluster." command="flotilla events" />
        }
        .into_any();
    }
    view! {
        <EventLog entries=list.entries at=at />
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
