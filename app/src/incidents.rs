//! Incidents: the list, open ones first, and the page of one.

use domain::Timestamp;
use domain::incident::{IncidentState, IncidentSummary};
use domain::page::Page;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{
    Age, Empty, EmptyPage, FilterForm, Pager, StatusStyle, render_resource, search_field,
};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

pub(crate) mod deliveries;
mod page;
mod title;

pub use page::IncidentPage;
use title::{OpenIncidents, show_title};

/// The value of the filter that shows incidents in any state.
const ANY_STATE: &str = "all";

/// One page of incidents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentList {
    /// The incidents, newest first.
    pub page: Page<IncidentSummary>,
    /// All open incidents, whatever the filter is.
    pub open: OpenIncidents,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query. `state` is `closed` or `all`; anything else is open.
#[server(prefix = "/api/fn", endpoint = "incidents_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn incidents_read(state: String, workload: String, cursor: String) -> AppResult<IncidentList> {
    use crate::host;
    use domain::incident::IncidentQuery;
    let state = (state != ANY_STATE).then(|| IncidentState::parse(&state).unwrap_or_default());
    let cursor = (!cursor.is_empty()).then_some(cursor);
    let query = IncidentQuery { state, workload, cursor, limit: None };
    let hub = host::hub_for_reader()?;
    let page = host::into_app_result(hub.list_incidents(&query).await)?;
    let open = IncidentQuery {
        state: Some(IncidentState::Open),
        limit: Some(title::MAX_READ),
        ..IncidentQuery::default()
    };
    let open = OpenIncidents::from_page(&host::into_app_result(hub.list_incidents(&open).await)?);
    Ok(IncidentList { page, open, at: hub.clock().now() })
}

/// The page.
#[component]
pub fn IncidentsPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (part("state"), part("workload"), part("cursor"), version.get()),
        |(state, workload, cursor, _)| incidents_read(state, workload, cursor),
    );
    view! {
        <Title text="Incidents" />
        <div class="stack-md">
            <h1 class="title">
                <Transition fallback=|| "Incidents">
                    {move || data.get().map(|list| match list {
                        Ok(list) => show_title(list.open, list.at),
                        Err(_) => "Incidents".into_any(),
                    })}
                </Transition>
            </h1>
            <FilterForm action=paths::INCIDENTS>
                <div class="filter-bar">
                    {move || search_field("workload", "Workload", part("workload"))}
                    {move || state_links(&part("state"), &part("workload"))}
                    {move || {
                        let state = part("state");
                        (!state.is_empty()).then(|| view! { <input type="hidden" name="state" value=state /> })
                    }}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                </div>
            </FilterForm>
            {render_resource(data, move |list| {
                show_list(list, &part("state"), &part("workload"), !part("cursor").is_empty())
            })}
        </div>
    }
    .into_any()
}

/// Links to the other states of the same list.
fn state_links(current: &str, workload: &str) -> AnyView {
    let choices = [("", "Open"), (IncidentState::Closed.as_str(), "Closed"), (ANY_STATE, "All")];
    let is_known = choices.iter().any(|(state, _)| *state == current);
    let link = move |(state, label): (&'static str, &'static str)| {
        let href = paths::query(paths::INCIDENTS, &[("workload", workload), ("state", state)]);
        let is_current = state == current || (state.is_empty() && !is_known);
        view! { <a href=href aria-current=is_current.then_some("page")>{label}</a> }
    };
    view! { <nav class="segmented" aria-label="State">{choices.map(link).collect_view()}</nav> }.into_any()
}

fn show_list(list: IncidentList, state: &str, workload: &str, is_later: bool) -> AnyView {
    let IncidentList { page, at, .. } = list;
    let here = [("workload", workload), ("state", state)];
    let first = is_later.then(|| paths::query(paths::INCIDENTS, &here));
    if page.items.is_empty() {
        return match first {
            Some(first) => view! { <EmptyPage first=first /> }.into_any(),
            None => no_incidents(state, workload),
        };
    }
    let next = page.next.map(|cursor| {
        paths::query(paths::INCIDENTS, &[("workload", workload), ("state", state), ("cursor", &cursor)])
    });
    let shown = page.items.len();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Workload"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Cause"</th>
                    <th scope="col">"Clusters"</th>
                    <th scope="col">"Since"</th>
                    <th scope="col">"Acknowledged"</th>
                </tr>
            </thead>
            <tbody>{page.items.into_iter().map(|one| incident_row(one, at)).collect_view()}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="incidents" first=first next=next />
    }
    .into_any()
}

fn no_incidents(state: &str, workload: &str) -> AnyView {
    let of = if workload.is_empty() { String::new() } else { format!(" of {workload}") };
    let title = match state {
        "closed" => format!("No closed incident{of}"),
        ANY_STATE => format!("No incident{of}"),
        _ => format!("No open incident{of}"),
    };
    view! {
        <Empty
            title=title
            text="An incident opens when a workload fails on a cluster for a minute, when it drifts or its source is blocked for ten, or when its rollout waits for a person for an hour. It closes by itself when that is over. Its owners are notified once, through the channels under Settings, Notifications."
            command="flotilla incidents --all"
        />
    }
    .into_any()
}

fn incident_row(one: IncidentSummary, at: Timestamp) -> impl IntoView {
    let clusters = if one.has_clusters() { one.cluster_text() } else { "the workload as a whole".to_owned() };
    let acknowledged = match (one.acknowledged_by, one.state) {
        (Some(by), _) => format!("by {by}"),
        (None, IncidentState::Open) => "by nobody".to_owned(),
        (None, IncidentState::Closed) => String::new(),
    };
    let acknowledged_label = (!acknowledged.is_empty()).then_some("Acknowledged");
    let closed = one.closed_at.map(|closed| view! { ", closed " <Age since=closed at=at suffix=" ago" /> });
    view! {
        <tr>
            <th scope="row" class="cell-name name">
                <a href=paths::incident(&one.id.to_string())>{one.workload}</a>
            </th>
            <td class="cell-state">{state_style(one.state).with_label(one.state.label())}</td>
            <td class="min-w-48" title=one.cause.clone()>
                <span class="line-clamp-2">{one.cause.clone()}</span>
            </td>
            <td data-label="Clusters">
                <span class="name">{clusters}</span>
            </td>
            <td data-label="Since">
                <Age since=one.since at=at suffix=" ago" />
                {closed}
            </td>
            <td data-label=acknowledged_label>{(!acknowledged.is_empty()).then_some(acknowledged)}</td>
        </tr>
    }
}

/// Icon, hue and emphasis of a state.
const fn state_style(state: IncidentState) -> StatusStyle {
    match state {
        IncidentState::Open => StatusStyle { icon: "failed", hue: "hue-degraded", emphasis: "state-broken" },
        IncidentState::Closed => StatusStyle { icon: "healthy", hue: "hue-healthy", emphasis: "state-quiet" },
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn an_empty_later_page_does_not_say_that_there_is_no_incident() {
        let render = |is_later: bool| {
            let page = Page { items: Vec::new(), next: None, total: 60 };
            let open = OpenIncidents { total: 60, oldest: None, unacknowledged: None };
            let list = IncidentList { page, open, at: Timestamp::default() };
            render_html(move || show_list(list, "", "shop", is_later))
        };
        let page = render(true);
        assert!(
            page.contains("href=\"/incidents?workload=shop\"") && !page.contains("No open incident"),
            "{page}"
        );
        assert!(render(false).contains("No open incident of shop"));
    }
}
