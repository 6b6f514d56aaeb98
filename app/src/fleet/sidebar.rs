//! The clusters that do not report, in the right column.

use domain::Timestamp;
use domain::cluster::Connectivity;
use domain::fleet::FleetColumn;
use leptos::prelude::*;

use crate::components::{Age, StatusStyle, icon_sized};
use crate::paths;

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
