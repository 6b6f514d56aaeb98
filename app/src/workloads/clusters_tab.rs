//! The releases of a workload, worst first. One row can be open; it shows stages, causes and remedies.

use domain::Timestamp;
use domain::page::Page;
use domain::release::{ReleaseDetails, ReleaseGoal, ReleaseView};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::release::ReleaseDetail;
use crate::address::use_tab_query;
use crate::components::{
    Empty, Pager, StateLabel, StatusStyle, health_label, icon, render_resource_part, sync_label, unbroken,
};
use crate::errors::AppResult;
use crate::paths;
use crate::resource::create_resource;

/// Value of `open` for no open row, also if the worst release fails. No cluster can have this name.
const NO_OPEN_ROW: &str = "-";

/// One page of releases, and the open release with its resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseList {
    /// The releases, worst first.
    pub page: Page<ReleaseView>,
    /// The open release, if there is one.
    pub open: Option<ReleaseDetails>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads the tab. `open` is the name of a cluster, empty or [`NO_OPEN_ROW`].
#[server(prefix = "/api/fn", endpoint = "releases_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn releases_read(
    name: String,
    group: String,
    cursor: Option<String>,
    open: String,
) -> AppResult<ReleaseList> {
    use crate::components::StateGroup;
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery { state: StateGroup::state_filter(&group), cursor, ..ListQuery::default() };
    let page = host::into_app_result(hub.list_releases(&name, &query).await)?;
    let open = match open.as_str() {
        NO_OPEN_ROW => None,
        // Releases are sorted worst first. A failing release is opened by default.
        "" if group.is_empty() && query.cursor.is_none() => match page.items.first() {
            Some(worst) if StateGroup::from_state(worst.state) == StateGroup::Failing => {
                load_open_release(&hub, &name, &worst.cluster_name).await?
            }
            _ => None,
        },
        "" => None,
        cluster => load_open_release(&hub, &name, cluster).await?,
    };
    Ok(ReleaseList { page, open, read_at: hub.clock().now() })
}

/// The release on the cluster of the open row; `None` if there is none.
#[cfg(feature = "ssr")]
async fn load_open_release(hub: &hub::Hub, name: &str, cluster: &str) -> AppResult<Option<ReleaseDetails>> {
    match hub.get_release_details(name, cluster).await {
        Ok(details) => Ok(Some(details)),
        Err(hub::Error::NotFound { .. }) => Ok(None),
        Err(error) => crate::host::into_app_result(Err(error)),
    }
}

/// The tab with the releases.
#[component]
pub fn ClustersTab(name: Memo<String>, version: RwSignal<u32>) -> impl IntoView {
    let query = use_tab_query();
    let group = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let part = move |key: &'static str| query.read().get(key);
    let data = create_resource(
        move || (name.get(), group.get(), part("cursor"), part("open").unwrap_or_default(), version.get()),
        |(name, group, cursor, open, _)| releases_read(name, group, cursor, open),
    );
    render_resource_part(data, move |list| {
        show_releases(list, &name.get(), &group.get(), part("cursor").as_deref())
    })
}

fn show_releases(list: ReleaseList, name: &str, group: &str, cursor: Option<&str>) -> AnyView {
    let ReleaseList { page, open, read_at: at } = list;
    if page.items.is_empty() && open.is_none() {
        return show_empty(name, group).into_any();
    }
    let base = paths::query(&paths::workload(name), &[("state", group)]);
    let first = cursor.map(|_| base.clone());
    let next = page.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let here = paths::query(&base, &[("cursor", cursor.unwrap_or_default())]);
    let shown = page.items.len();
    let total = page.total;
    let mut rows = page.items;
    // A release opened by a link stays visible even if it is on another page.
    let is_listed =
        |open: &&ReleaseDetails| rows.iter().any(|row| row.release.id() == open.view.release.id());
    if let Some(open) = open.as_ref().filter(|open| !is_listed(open)) {
        rows.insert(0, open.view.clone());
    }
    let rows = rows.into_iter().map(|row| {
        let detail = open.clone().filter(|open| open.view.release.id() == row.release.id());
        release_rows(row, detail, &here, at)
    });
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Cluster"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Desired"</th>
                    <th scope="col">"Sync"</th>
                    <th scope="col">"Health"</th>
                    <th scope="col">"Connectivity"</th>
                    <th scope="col">"Message"</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        <Pager shown=shown total=total noun="releases" first=first next=next />
    }
    .into_any()
}

fn release_rows(
    row: ReleaseView,
    open: Option<ReleaseDetails>,
    here: &str,
    at: Timestamp,
) -> impl IntoView + use<> {
    let is_open = open.is_some();
    let toggle = paths::query(here, &[("open", if is_open { NO_OPEN_ROW } else { &row.cluster_name })]);
    let release = &row.release;
    let desired = match (release.goal(), release.revision()) {
        (ReleaseGoal::Present, Some(number)) => {
            // A gated release still runs the revision that was released before.
            let runs = release.released_revision().filter(|runs| *runs != number);
            let runs = runs.map(|runs| view! { <span class="text-3">{format!("r{runs} → ")}</span> });
            view! { {runs} <span class="tag">{format!("r{number}")}</span> }.into_any()
        }
        _ => view! { <span class="text-3">"none"</span> }.into_any(),
    };
    let facts_notice = release.facts_notice().to_owned();
    let live = row.last_known_state.is_none();
    let health = if live {
        health_label(release.health().status).into_any()
    } else {
        view! { <span class="text-3">"see state"</span> }.into_any()
    };
    view! {
        <tr class=if is_open { "row-link row-open" } else { "row-link" } data-release=release.id().to_string()>
            <th scope="row" class="cell-name name">
                <a href=toggle aria-expanded=is_open.to_string() class="inline-flex items-center gap-2">
                    {icon(if is_open { "chevron-down" } else { "chevron-right" })}
                    {row.cluster_name.clone()}
                </a>
            </th>
            <td class="cell-state">
                <StateLabel state=row.state last_known=row.last_known_state reported_at=release.reported_at() at=at />
            </td>
            <td data-label="Desired">{desired}</td>
            <td class="max-sm:hidden">{sync_label(release.sync())}</td>
            <td class="max-sm:hidden">{health}</td>
            <td class="max-sm:hidden">{StatusStyle::from_connectivity(release.connectivity()).with_label(release.connectivity().as_str())}</td>
            <td class="min-w-72" title=row.message.clone()>
                {(!row.message.is_empty()).then(|| view! { <span class="line-clamp-2">{unbroken(&row.message)}</span> })}
                {(!facts_notice.is_empty()).then(|| view! { <span class="line-clamp-2 text-3">{unbroken(&facts_notice)}</span> })}
            </td>
        </tr>
        {open.map(|open| view! {
            <tr class="row-detail">
                <td colspan="7">
                    <ReleaseDetail details=open at=at />
                </td>
            </tr>
        })}
    }
}

fn show_empty(name: &str, group: &str) -> impl IntoView + use<> {
    if group.is_empty() {
        let review = paths::publish(name);
        return view! {
            <Empty
                title="Not on any cluster"
                text="Nothing runs before you publish. The review shows the selected clusters and what blocks the publish."
                command=format!("flotilla publish {name} --wait")
            >
                <a class="btn" href=review>
                    "Review"
                </a>
            </Empty>
        }
        .into_any();
    }
    let all = paths::workload(name);
    view! {
        <Empty title="No release in this state" text="Releases may be in other states.">
            <a class="btn" href=all>
                "Show all"
            </a>
        </Empty>
    }
    .into_any()
}
