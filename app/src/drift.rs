//! The drift inbox: what was changed on clusters, contested objects first, then the oldest. One entry can be open; it has the values and
//! the decisions.

use domain::Timestamp;
use domain::drift::{DriftItem, DriftState};
use domain::page::Page;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{
    Age, Empty, EmptyPage, FilterForm, Pager, StatusStyle, icon, render_resource, search_field,
};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;
use crate::workloads::publish::changes::dotted_path;

mod decisions;
mod entry;

use decisions::InboxActions;
use entry::show_entry;

/// The value of the filter that shows entries in any state.
const ANY_STATE: &str = "all";

/// The filters of the list, as they stand in the address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriftFilter {
    /// Name of a workload.
    pub workload: String,
    /// Name of a cluster.
    pub cluster: String,
    /// `snoozed` or `all`; anything else is open.
    pub state: String,
}

impl DriftFilter {
    /// Its parts, as they stand in an address.
    fn parts(&self) -> [(&'static str, &str); 3] {
        [("workload", &self.workload), ("cluster", &self.cluster), ("state", &self.state)]
    }

    /// The address of the list.
    fn address(&self) -> String {
        paths::query(paths::DRIFT, &self.parts())
    }
}

/// One page of the inbox, and the open entry with all of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftList {
    /// The entries.
    pub page: Page<DriftItem>,
    /// The open entry, if there is one.
    pub open: Option<DriftItem>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query. `open` is the id of an entry.
#[server(prefix = "/api/fn", endpoint = "drift_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn drift_read(
    workload: String,
    cluster: String,
    state: String,
    cursor: String,
    open: String,
) -> AppResult<DriftList> {
    use crate::host;
    use domain::drift::DriftQuery;
    let state = (state != ANY_STATE).then(|| DriftState::parse(&state).unwrap_or_default());
    let cursor = (!cursor.is_empty()).then_some(cursor);
    let query = DriftQuery { state, workload, cluster, cursor, limit: None };
    let (hub, actor) = (host::hub_for_reader()?, host::actor()?);
    let page = host::into_app_result(hub.list_drift(&actor, &query).await)?;
    let open = match open.parse::<domain::DriftId>() {
        Ok(id) => match hub.get_drift(&actor, id).await {
            Ok(item) => Some(item),
            // It does not drift any more.
            Err(hub::Error::NotFound { .. }) => None,
            Err(error) => return host::into_app_result(Err(error)),
        },
        Err(_) => None,
    };
    Ok(DriftList { page, open, at: hub.clock().now() })
}

/// The page.
#[component]
pub fn DriftPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let filter =
        move || DriftFilter { workload: part("workload"), cluster: part("cluster"), state: part("state") };
    let actions = InboxActions::new();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (filter(), part("cursor"), part("open"), version.get(), actions.version()),
        |(DriftFilter { workload, cluster, state }, cursor, open, ..)| {
            drift_read(workload, cluster, state, cursor, open)
        },
    );
    view! {
        <Title text="Drift" />
        <div class="stack-md">
            <h1 class="title">"Drift"</h1>
            <FilterForm action=paths::DRIFT>
                <div class="filter-bar">
                    {move || search_field("workload", "Workload", part("workload"))}
                    {move || cluster_field(part("cluster"))}
                    {move || state_links(&filter())}
                    {move || {
                        let state = part("state");
                        (!state.is_empty()).then(|| view! { <input type="hidden" name="state" value=state /> })
                    }}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                </div>
            </FilterForm>
            {render_resource(data, move |list| show_list(list, &filter(), &part("cursor"), actions))}
        </div>
    }
    .into_any()
}

fn cluster_field(value: String) -> impl IntoView {
    view! {
        <input
            class="input sm:max-w-60"
            type="search"
            name="cluster"
            value=value
            placeholder="Cluster"
            aria-label="Cluster"
            autocomplete="off"
        />
    }
}

/// Links to the other states of the same list.
fn state_links(filter: &DriftFilter) -> AnyView {
    let choices = [("", "Open"), (DriftState::Snoozed.as_str(), "Snoozed"), (ANY_STATE, "All")];
    let is_known = choices.iter().any(|(state, _)| *state == filter.state);
    let link = |(state, label): (&'static str, &'static str)| {
        let href = DriftFilter { state: state.to_owned(), ..filter.clone() }.address();
        let is_current = state == filter.state || (state.is_empty() && !is_known);
        view! { <a href=href aria-current=is_current.then_some("page")>{label}</a> }
    };
    let links = choices.map(link).collect_view();
    view! { <nav class="segmented" aria-label="State">{links}</nav> }.into_any()
}

fn show_list(list: DriftList, filter: &DriftFilter, cursor: &str, actions: InboxActions) -> AnyView {
    let DriftList { page, open, at } = list;
    let base = filter.address();
    let first = (!cursor.is_empty()).then(|| base.clone());
    let mut rows = page.items;
    // An entry that is opened by a link stays visible on any page.
    if let Some(open) = open.as_ref().filter(|open| !rows.iter().any(|row| row.id == open.id)) {
        rows.insert(0, open.clone());
    }
    if rows.is_empty() {
        return match first {
            Some(first) => view! { <EmptyPage first=first /> }.into_any(),
            None => show_nothing(filter),
        };
    }
    let next = page.next.map(|cursor| paths::query(&base, &[("cursor", &cursor)]));
    let here = paths::query(&base, &[("cursor", cursor)]);
    let shown = rows.len();
    let rows = rows.into_iter().map(|row| {
        let detail = open.clone().filter(|open| open.id == row.id);
        entry_rows(row, detail, (here.as_str(), filter), at, actions)
    });
    let rows = rows.collect_view();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Object"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Workload"</th>
                    <th scope="col">"Cluster"</th>
                    <th scope="col">"Fields"</th>
                    <th scope="col">"Changed by"</th>
                    <th scope="col">"Since"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="drifted objects" first=first next=next />
    }
    .into_any()
}

fn show_nothing(filter: &DriftFilter) -> AnyView {
    let place = match (filter.workload.as_str(), filter.cluster.as_str()) {
        ("", "") => String::new(),
        (workload, "") => format!(" of {workload}"),
        ("", cluster) => format!(" on {cluster}"),
        (workload, cluster) => format!(" of {workload} on {cluster}"),
    };
    let title = match filter.state.as_str() {
        "snoozed" => format!("No drift{place} is snoozed"),
        _ => format!("Nothing drifts{place}"),
    };
    view! {
        <Empty
            title=title
            text="What somebody changes on a cluster is reverted, or listed here if the drift policy says to notify only, or if another manager changes it again and again."
            command="flotilla drift --all"
        />
    }
    .into_any()
}

/// The row of an entry, and its details below it if it is open.
fn entry_rows(
    item: DriftItem,
    open: Option<DriftItem>,
    (here, filter): (&str, &DriftFilter),
    at: Timestamp,
    actions: InboxActions,
) -> AnyView {
    let is_open = open.is_some();
    let id = item.id.to_string();
    let toggle = paths::query(here, &[("open", if is_open { "" } else { &id })]);
    let managers = match item.managers().join(", ") {
        none if none.is_empty() => "unknown".to_owned(),
        managers => managers,
    };
    let fields = describe_fields(&item);
    let detail = open.map(|open| show_entry(open, filter, at, actions));
    let since = item.since;
    let state = state_label(&item);
    view! {
        <tr class=if is_open { "row-link row-open" } else { "row-link" }>
            <th scope="row" class="cell-name">
                <a href=toggle aria-expanded=is_open.to_string() class="inline-flex items-center gap-2">
                    {icon(if is_open { "chevron-down" } else { "chevron-right" })}
                    <span>
                        <span class="text-2">{item.object.kind.clone()}</span>
                        " "
                        <span class="name">{item.object.name.clone()}</span>
                    </span>
                </a>
            </th>
            <td class="cell-state">{state}</td>
            <td data-label="Workload">
                <span class="name">{item.workload.clone()}</span>
            </td>
            <td data-label="Cluster">
                <span class="name">{item.cluster.clone()}</span>
            </td>
            <td class="mono min-w-40" title=fields.clone()>
                <span class="line-clamp-2">{fields.clone()}</span>
            </td>
            <td class="mono" data-label="Changed by">
                {managers}
            </td>
            <td data-label="Since" class="whitespace-nowrap">
                <Age since=since at=at suffix=" ago" />
            </td>
        </tr>
        {detail.map(|detail| view! {
            <tr class="row-detail">
                <td colspan="7">{detail}</td>
            </tr>
        })}
    }
    .into_any()
}

/// The first fields and the number of the others.
fn describe_fields(item: &DriftItem) -> String {
    if item.is_missing() {
        return "missing".to_owned();
    }
    let paths: Vec<String> = item.fields.iter().map(|field| dotted_path(&field.path)).collect();
    match item.more_fields() {
        0 => paths.join(", "),
        more if paths.is_empty() => format!("{more} fields"),
        more => format!("{} and {more} more", paths.join(", ")),
    }
}

fn state_label(item: &DriftItem) -> AnyView {
    let (icon, hue, emphasis, word) = match item.state {
        DriftState::Snoozed => ("suspended", "hue-paused", "state-quiet", "Snoozed"),
        DriftState::Open if item.contested => ("failed", "hue-degraded", "state-broken", "Contested"),
        DriftState::Open => ("drifted", "hue-drifted", "state-attention", "Drifted"),
    };
    StatusStyle { icon, hue, emphasis }.with_label(word).into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn an_empty_later_page_does_not_say_that_nothing_drifts() {
        let render = |cursor: &'static str| {
            let page = Page { items: Vec::new(), next: None, total: 60 };
            let list = DriftList { page, open: None, at: Timestamp::default() };
            let filter = DriftFilter { workload: "shop".to_owned(), ..DriftFilter::default() };
            render_html(move || show_list(list, &filter, cursor, InboxActions::new()))
        };
        let later = render("6e");
        assert!(
            later.contains("href=\"/drift?workload=shop\"") && !later.contains("Nothing drifts"),
            "{later}"
        );
        assert!(render("").contains("Nothing drifts of shop"));
    }
}
