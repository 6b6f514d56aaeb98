//! The releases of a workload, worst first; one row can be open and tells its stages, why, and what to do.

use domain::Timestamp;
use domain::page::Page;
use domain::release::{ReleaseGoal, ReleaseView};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::release::ReleaseDetail;
use crate::components::{Empty, Look, Pager, StateWord, health_word, icon, loaded_part, sync_word};
use crate::errors::Answer;
use crate::paths;

/// In place of a cluster's name, which it can't be: no row is open, whatever it has to say.
const CLOSED: &str = "-";

/// One page of releases, and the open one with its resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseList {
    /// The releases, worst first.
    pub page: Page<ReleaseView>,
    /// The open one.
    pub open: Option<ReleaseView>,
    /// When this was read.
    pub at: Timestamp,
}

/// The tab's one query. `open` is the name of a cluster, or empty.
#[server(prefix = "/api/fn", endpoint = "releases_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn releases_read(
    name: String,
    group: String,
    cursor: Option<String>,
    open: String,
) -> Answer<ReleaseList> {
    use crate::components::Group;
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery { state: Group::states_of(&group), cursor, ..ListQuery::default() };
    let page = host::answer(hub.release_list(&name, &query).await)?;
    let open = match open.as_str() {
        CLOSED => None,
        // The worst comes first. One that needs a person tells why without being asked.
        "" if group.is_empty() && query.cursor.is_none() => match page.items.first() {
            Some(worst) if Group::of(worst.state) == Group::Failing => {
                hub.release_view(&name, &worst.cluster_name).await.ok()
            }
            _ => None,
        },
        "" => None,
        cluster => hub.release_view(&name, cluster).await.ok(),
    };
    Ok(ReleaseList { page, open, at: hub.clock().now() })
}

/// The tab.
#[component]
pub fn ClustersTab(name: Memo<String>, group: Memo<String>, version: RwSignal<u32>) -> impl IntoView {
    let query = use_query_map();
    let part = move |key: &'static str| query.read().get(key);
    let data = Resource::new(
        move || (name.get(), group.get(), part("cursor"), part("open").unwrap_or_default(), version.get()),
        |(name, group, cursor, open, _)| releases_read(name, group, cursor, open),
    );
    loaded_part(data, move |list| show(list, &name.get(), &group.get(), part("cursor").as_deref()))
}

fn show(list: ReleaseList, name: &str, group: &str, cursor: Option<&str>) -> AnyView {
    let ReleaseList { page, open, at } = list;
    if page.items.is_empty() && open.is_none() {
        return nothing(name, group).into_any();
    }
    let base = paths::query(&paths::workload(name), &[("state", group)]);
    let first = cursor.map(|_| base.clone());
    let next = page.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let here = paths::query(&base, &[("cursor", cursor.unwrap_or_default())]);
    let shown = page.items.len();
    let total = page.total;
    let mut rows = page.items;
    // A release opened by a link stays visible even if it is on another page.
    if let Some(open) = open.as_ref().filter(|open| rows.iter().all(|row| row.release.id != open.release.id))
    {
        rows.insert(0, open.clone());
    }
    let rows = rows.into_iter().map(|row| {
        let detail = open.clone().filter(|open| open.release.id == row.release.id);
        line(row, detail, &here, at)
    });
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Cluster"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Wanted"</th>
                    <th scope="col">"Sync"</th>
                    <th scope="col">"Health"</th>
                    <th scope="col">"Reach"</th>
                    <th scope="col">"Why"</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        <Pager shown=shown total=total noun="releases" first=first next=next />
    }
    .into_any()
}

fn line(row: ReleaseView, open: Option<ReleaseView>, here: &str, at: Timestamp) -> impl IntoView + use<> {
    let is_open = open.is_some();
    let toggle = paths::query(here, &[("open", if is_open { CLOSED } else { &row.cluster_name })]);
    let release = &row.release;
    let wanted = match (&release.goal, release.revision) {
        (ReleaseGoal::Present, Some(number)) => {
            // While it waits for its turn it runs another.
            let runs = release.released_revision.filter(|runs| *runs != number);
            let runs = runs.map(|runs| view! { <span class="text-3">{format!("r{runs} → ")}</span> });
            view! { {runs} <span class="tag">{format!("r{number}")}</span> }.into_any()
        }
        _ => view! { <span class="text-3">"nothing"</span> }.into_any(),
    };
    let live = row.last_known_state.is_none();
    let health = if live {
        health_word(release.health.status).into_any()
    } else {
        view! { <span class="text-3">"see state"</span> }.into_any()
    };
    view! {
        <tr class=if is_open { "row-link row-open" } else { "row-link" } data-release=release.id.to_string()>
            <th scope="row" class="cell-name name">
                <a href=toggle aria-expanded=is_open.to_string() class="inline-flex items-center gap-2">
                    {icon(if is_open { "chevron-down" } else { "chevron-right" })}
                    {row.cluster_name.clone()}
                </a>
            </th>
            <td class="cell-state">
                <StateWord state=row.state last_known=row.last_known_state reported_at=release.reported_at at=at />
            </td>
            <td data-label="Wanted">{wanted}</td>
            <td class="max-sm:hidden">{sync_word(release.sync)}</td>
            <td class="max-sm:hidden">{health}</td>
            <td class="max-sm:hidden">{Look::of_reach(release.reach).with_word(release.reach.word())}</td>
            <td data-label=(!row.message.is_empty()).then_some("Why") class="max-w-72 truncate" title=row.message.clone()>
                {row.message.clone()}
            </td>
        </tr>
        {open.map(|open| view! {
            <tr class="row-detail">
                <td colspan="7">
                    <ReleaseDetail one=open at=at />
                </td>
            </tr>
        })}
    }
}

fn nothing(name: &str, group: &str) -> impl IntoView + use<> {
    if group.is_empty() {
        let review = paths::publish(name);
        return view! {
            <Empty
                title="Not on any cluster"
                text="Nothing runs before you publish. The review shows where it would go and what is in the way."
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
        <Empty title="No release in this state" text="Others may be.">
            <a class="btn" href=all>
                "Show all"
            </a>
        </Empty>
    }
    .into_any()
}
