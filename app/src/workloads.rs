//! The list of workloads. Filter, search text and page are query parameters.

use domain::authorization::UserAction;
use domain::page::Page;
use domain::workload::{WorkloadOrder, WorkloadSummary};
use domain::{Timestamp, WorkloadId};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{FilterForm, StateGroup, labels_field, render_resource, search_field};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::permission::PermittedLink;
use crate::resource::create_resource;

mod autosave;
mod bulk;
mod chart;
mod clusters_tab;
mod dialogs;
mod draft_form;
mod draft_part;
mod draft_saving;
mod form_autosave;
mod form_page;
mod git;
mod head;
mod history_tab;
pub(crate) mod left_forms;
mod list;
mod list_address;
mod new;
mod operations;
mod overrides;
mod page;
mod placement;
mod policies;
pub(crate) mod publish;
mod queries;
mod release;
mod revision;
mod rollout;
mod selection;
mod source;
mod text_field;
mod title;
pub(crate) mod wizard;

pub use bulk::BulkPanel;
pub use new::NewPage;
pub use overrides::{OverridesPage, OverridesTab};
pub use page::WorkloadPage;
pub use placement::{PlacementPage, PlacementTab};
pub use policies::{PoliciesPage, PoliciesTab};
pub use publish::PublishPage;
pub use revision::RevisionPage;
pub use rollout::{RolloutGridPage, RolloutPage};
pub use source::{ConfigTab, SourcePage};
pub use wizard::WizardFrame;

use list::show_list;
use list_address::{DEFAULT_ORDER, ListAddress};
use selection::{RowSelection, SelectionBar};
use title::{WorkloadTotals, describe_totals};

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadList {
    /// The workloads.
    pub page: Page<WorkloadSummary>,
    /// Of those of them with a failing or blocked release, the message of the worst one.
    pub messages: Vec<(WorkloadId, String)>,
    /// All workloads, whatever the filter is.
    pub totals: WorkloadTotals,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads one page of the list. `labels` is a label selector, `group` the slug of a state group; both may be empty.
#[server(prefix = "/api/fn", endpoint = "workloads_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn workloads_read(
    q: String,
    labels: String,
    group: String,
    order: WorkloadOrder,
    cursor: Option<String>,
) -> AppResult<WorkloadList> {
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery {
        q: q.chars().take(100).collect(),
        label_selector: labels.chars().take(500).collect(),
        state: StateGroup::state_filter(&group),
        cursor,
        ..ListQuery::default()
    };
    let page = host::into_app_result(hub.list_workloads(&query, order).await)?;
    let ids: Vec<WorkloadId> = page.items.iter().map(|one| one.id).collect();
    let messages = host::into_app_result(hub.list_failure_messages(&ids).await)?;
    let failing = count_workloads(&hub, StateGroup::Failing).await?;
    let has_unknown = failing == 0 && count_workloads(&hub, StateGroup::Unknown).await? > 0;
    let (total, _) = host::into_app_result(hub.count_fleet().await)?;
    let totals = WorkloadTotals { total, failing, has_unknown };
    Ok(WorkloadList { page, messages, totals, read_at: hub.clock().now() })
}

/// How many workloads have a release in one of these states.
#[cfg(feature = "ssr")]
async fn count_workloads(hub: &hub::Hub, group: StateGroup) -> AppResult<u32> {
    let query = domain::page::ListQuery {
        state: StateGroup::state_filter(group.slug()),
        limit: Some(1),
        ..domain::page::ListQuery::default()
    };
    Ok(crate::host::into_app_result(hub.list_workloads(&query, WorkloadOrder::Name).await)?.total)
}

/// The page with the list of workloads.
#[component]
pub fn WorkloadsPage(
    /// Renders the dialog or the result of an action on several workloads: its code is fetched when it is first displayed, so this
    /// module does not import it.
    panel: fn() -> AnyView,
) -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let order = move || WorkloadOrder::parse(&part("order")).unwrap_or(DEFAULT_ORDER);
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || {
            (part("q"), part("labels"), part("state"), order(), query.read().get("cursor"), version.get())
        },
        |(q, labels, group, order, cursor, _)| workloads_read(q, labels, group, order, cursor),
    );
    let address = Memo::new(move |_| query.with(ListAddress::from_query));
    let selection = RowSelection::from_address(query);
    let has_panel =
        Memo::new(move |_| query.read().get("dialog").is_some() || query.read().get("done").is_some());
    view! {
        <Title text="Workloads" />
        <div class="stack-md">
            <div class="head">
                <h1 class="title">
                    <Transition fallback=|| "Workloads">
                        {move || data.get().map(|list| match list {
                            Ok(list) => describe_totals(list.totals),
                            Err(_) => "Workloads".to_owned(),
                        })}
                    </Transition>
                </h1>
                <div class="head-actions">
                    <PermittedLink action=UserAction::Edit class="btn btn-primary" href=paths::WORKLOAD_NEW label="New workload" icon_name="plus" />
                </div>
            </div>
            {move || has_panel.get().then(panel)}
            <FilterForm action=paths::WORKLOADS>
                <div class="filter-bar">
                    {move || search_field("q", "Name", part("q"))}
                    {move || labels_field(part("labels"), "Labels, team=shop")}
                    {move || state_select(&part("state"))}
                    {move || (order() != DEFAULT_ORDER).then(|| view! { <input type="hidden" name="order" value=order().as_str() /> })}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                </div>
            </FilterForm>
            {render_resource(data, move |list| show_list(list, &address.get(), selection))}
            <SelectionBar selection=selection />
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
