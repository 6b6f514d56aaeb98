//! The list of workloads. Filter, search text and page are query parameters.

use domain::Timestamp;
use domain::page::Page;
use domain::workload::WorkloadSummary;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::components::Form;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::counts::describe_counts;
use crate::components::{Age, Empty, Pager, StateGroup, StateStrip, icon, render_resource, search_field};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

mod chart;
mod clusters_tab;
mod dialogs;
mod draft_saving;
mod git;
mod head;
mod history_tab;
mod new;
mod operations;
mod overrides;
mod page;
mod placement;
mod policies;
mod publish;
mod queries;
mod release;
mod revision;
mod rollout;
mod source;
mod text_field;
mod wizard;

pub use new::NewPage;
pub use overrides::{OverridesPage, OverridesTab};
pub use page::WorkloadPage;
pub use placement::{PlacementPage, PlacementTab};
pub use policies::PoliciesPage;
pub use publish::PublishPage;
pub use revision::RevisionPage;
pub use rollout::RolloutPage;
pub use source::{ConfigTab, SourcePage};
pub use wizard::WizardFrame;

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadList {
    /// The workloads.
    pub page: Page<WorkloadSummary>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads one page of the list. `group` is the slug of a state group, or empty.
#[server(prefix = "/api/fn", endpoint = "workloads_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn workloads_read(q: String, group: String, cursor: Option<String>) -> AppResult<WorkloadList> {
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery {
        q: q.chars().take(100).collect(),
        state: StateGroup::state_filter(&group),
        cursor,
        ..ListQuery::default()
    };
    let page = host::into_app_result(hub.list_workloads(&query).await)?;
    Ok(WorkloadList { page, read_at: hub.clock().now() })
}

/// The page with the list of workloads.
#[component]
pub fn WorkloadsPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (part("q"), part("state"), query.read().get("cursor"), version.get()),
        |(q, group, cursor, _)| workloads_read(q, group, cursor),
    );
    view! {
        <Title text="Workloads" />
        <div class="stack-md">
            <div class="head">
                <h1 class="title">"Workloads"</h1>
                <div class="head-actions">
                    <a class="btn btn-primary" href=paths::WORKLOAD_NEW>
                        {icon("plus")}
                        "New workload"
                    </a>
                </div>
            </div>
            <Form method="GET" action=paths::WORKLOADS>
                <div class="filter-bar">
                    {move || search_field("q", "Name", part("q"))}
                    {move || state_select(&part("state"))}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                </div>
            </Form>
            {render_resource(data, move |list| show_list(list, &part("q"), &part("state"), query.read().get("cursor").is_some()))}
        </div>
    }
    .into_any()
}

fn state_select(active: &str) -> impl IntoView + use<> {
    let active = active.to_owned();
    let option = move |group: StateGroup| {
        let chosen = active == group.slug();
        view! {
            <option value=group.slug() selected=chosen>
                {group.label()}
            </option>
        }
    };
    view! {
        <select class="select max-w-44" name="state" aria-label="State">
            <option value="">"Any state"</option>
            {StateGroup::ALL.map(option).collect_view()}
        </select>
    }
}

fn show_list(list: WorkloadList, q: &str, group: &str, later: bool) -> AnyView {
    let (page, at) = (list.page, list.read_at);
    if page.items.is_empty() {
        return show_empty(q, group).into_any();
    }
    let here = [("q", q), ("state", group)];
    let first = later.then(|| paths::query(paths::WORKLOADS, &here));
    let next = page
        .next
        .as_ref()
        .map(|cursor| paths::query(paths::WORKLOADS, &[("q", q), ("state", group), ("cursor", cursor)]));
    let shown = page.items.len();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Workload"</th>
                    <th scope="col">"Phase"</th>
                    <th scope="col">"Releases"</th>
                    <th scope="col" class="right">"Healthy"</th>
                    <th scope="col">"Revision"</th>
                    <th scope="col">"Namespace"</th>
                    <th scope="col">"Changed"</th>
                </tr>
            </thead>
            <tbody>{page.items.into_iter().map(|one| workload_row(one, at)).collect_view()}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="workloads" first=first next=next />
    }
    .into_any()
}

fn workload_row(one: WorkloadSummary, at: Timestamp) -> impl IntoView {
    let href = paths::workload(&one.name);
    let targeted = one.counts.targeted();
    let worst = one
        .counts
        .worst()
        .map(|state| StateGroup::from_state(state).style().with_label(one.phase.label()).into_any());
    let unreadable = one
        .unreadable
        .clone()
        .map(|why| view! { <span class="meta" role="note">"Unreadable. " {why}</span> });
    let phase = worst.unwrap_or_else(|| view! { <span class="text-2">{one.phase.label()}</span> }.into_any());
    let revision = match one.published {
        Some(number) => view! { <span class="tag">{format!("r{number}")}</span> }.into_any(),
        None => view! { <span class="text-3">"none"</span> }.into_any(),
    };
    let draft = (one.draft_changed && one.published.is_some())
        .then(|| view! { <span class="meta">" + draft"</span> });
    let strip =
        (targeted > 0).then(|| view! { <StateStrip counts=one.counts.clone() class="strip strip-row" /> });
    view! {
        <tr>
            <th scope="row" class="cell-name name">
                <a href=href>{one.name.clone()}</a>
            </th>
            <td class="cell-state">{phase} {unreadable}</td>
            <td class="max-sm:hidden" style="min-width:120px" title=describe_counts(&one.counts)>
                {strip}
            </td>
            <td class="right" data-label="Healthy">
                {format!("{}/{targeted}", one.counts.healthy())}
            </td>
            <td data-label="Revision">{revision} {draft}</td>
            <td class="mono" data-label="Namespace">
                {one.namespace.clone()}
            </td>
            <td data-label="Changed">
                <Age since=one.updated_at at=at suffix=" ago" />
                {format!(" by {}", one.updated_by)}
            </td>
        </tr>
    }
}

fn show_empty(q: &str, group: &str) -> impl IntoView {
    if q.is_empty() && group.is_empty() {
        return view! {
            <Empty
                title="No workloads yet"
                text="Describe a workload once and select its clusters; Flotilla deploys it there and corrects drift. Paste YAML or upload files."
                command="flotilla apply -f deploy.yaml"
            >
                <a class="btn" href=paths::WORKLOAD_NEW>
                    "New workload"
                </a>
            </Empty>
        }
        .into_any();
    }
    view! {
        <Empty title="No workload matches" text="No name contains this text with a release in this state.">
            <a class="btn" href=paths::WORKLOADS>
                "Show all"
            </a>
        </Empty>
    }
    .into_any()
}
