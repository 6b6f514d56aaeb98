//! The right column: recent changes, and the clusters that do not report.

use domain::Timestamp;
use domain::cluster::Connectivity;
use domain::fleet::FleetColumn;
use leptos::prelude::*;

use crate::components::{Age, StatusStyle, icon_sized};
use crate::events::{EventRow, EventSummary};
use crate::paths;

/// The last events.
#[component]
pub fn RecentChanges(events: Vec<EventSummary>, at: Timestamp) -> impl IntoView {
    let none = events.is_empty().then(|| view! { <p class="text-3">"Nothing has happened yet."</p> });
    view! {
        <section class="stack-sm" aria-labelledby="recent">
            <div class="flex items-baseline justify-between">
                <h2 class="section" id="recent">
                    "Recent changes"
                </h2>
                <a class="link meta" href=paths::EVENTS>
                    "All events"
                </a>
            </div>
            {none}
            <div class="list">
                {events.into_iter().take(10).map(|event| view! { <EventRow event=event at=at /> }).collect_view()}
            </div>
        </section>
    }
    .into_any()
}

/// Clusters that are late or offline; their releases keep the last known state.
#[component]
pub fn SilentClusters(columns: Vec<FleetColumn>, at: Timestamp) -> impl IntoView {
    let silent: Vec<FleetColumn> =
        columns.into_iter().filter(|column| column.connectivity != Connectivity::Online).collect();
    if silent.is_empty() {
        return ().into_any();
    }
    let row = move |column: FleetColumn| {
        let look = StatusStyle::from_connectivity(column.connectivity);
        let seen = match column.last_seen {
            Some(seen) => view! { <Age since=seen at=at /> }.into_any(),
            None => "never connected".into_any(),
        };
        view! {
            <a class=format!("list-row {}", look.hue) href=paths::cluster(&column.name)>
                {icon_sized(look.icon, "icon icon-16")}
                <span class="list-main">
                    <b class="name strong">{column.name.clone()}</b>
                    <span>{column.connectivity.as_str()}</span>
                </span>
                <span class="list-end">{seen}</span>
            </a>
        }
    };
    view! {
        <section class="stack-sm" aria-labelledby="silent">
            <h2 class="section" id="silent">
                "Clusters not reporting"
            </h2>
            <div class="list">{silent.into_iter().map(row).collect_view()}</div>
        </section>
    }
    .into_any()
}
