//! The operations on a workload with their outcome per cluster, on the tab with its history (S1-13).

use domain::Timestamp;
use domain::operation::{
    Operation, OperationCounts, OperationKind, OperationStatus, OperationTarget, OperationView,
};
use domain::page::Page;
use domain::release::ReleaseState;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::address::use_tab_query;
use crate::components::status::StatusStyle;
use crate::components::{Age, EmptyPage, Pager, render_resource_part};
use crate::errors::AppResult;
use crate::incidents::deliveries::delivery_table;
use crate::paths::{self, WorkloadTab};
use crate::resource::create_resource;

/// The query parameter with the id of the operation whose clusters are shown.
const SELECTED: &str = "operation";
/// The query parameter with the place in the list.
const CURSOR: &str = "operations";

/// One page of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationList {
    /// Newest first.
    pub page: Page<Operation>,
    /// The one whose clusters are shown.
    pub selected: Option<OperationView>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads one page of operations, and one of them with its clusters.
#[server(prefix = "/api/fn", endpoint = "operations_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn operations_read(
    name: String,
    cursor: Option<String>,
    selected: Option<String>,
) -> AppResult<OperationList> {
    use crate::host;
    use domain::page::ListQuery;
    const PAGE_SIZE: u32 = 10;
    let hub = host::hub_for_reader()?;
    let query = ListQuery { cursor, limit: Some(PAGE_SIZE), ..ListQuery::default() };
    let page = host::into_app_result(hub.list_operations(&name, &query).await)?;
    // Text that is no id is that of a link which was cut off: nothing is selected.
    let selected = match selected.and_then(|id| id.parse().ok()) {
        Some(id) => Some(host::into_app_result(hub.get_operation(id).await)?),
        None => None,
    };
    let selected = selected.filter(|view| view.operation.workload == name);
    Ok(OperationList { page, selected, read_at: hub.clock().now() })
}

/// The operations.
#[component]
pub(super) fn Operations(name: Memo<String>, version: RwSignal<u32>) -> impl IntoView {
    let query = use_tab_query();
    let cursor = move || query.read().get(CURSOR);
    let selected = move || query.read().get(SELECTED);
    let data = create_resource(
        move || (name.get(), cursor(), selected(), version.get()),
        |(name, cursor, selected, _)| operations_read(name, cursor, selected),
    );
    view! {
        {render_resource_part(data, move |list| show_section(list, &name.get(), cursor().is_some()))}
    }
}

/// The section, folded while every operation is the publish of a revision listed above.
fn show_section(list: OperationList, name: &str, later: bool) -> AnyView {
    let is_publish = |operation: &Operation| operation.kind == OperationKind::Publish;
    let is_open = later || list.selected.is_some() || !list.page.items.iter().all(is_publish);
    let total = list.page.total;
    view! {
        <details class="fold" open=is_open id="operations">
            <summary>
                <h2>"Operations"</h2>
                <span class="text-3">{total}</span>
            </summary>
            <div class="stack-sm pb-4">
                <p class="text-2">
                    "What was requested, and whether each cluster has completed it. Health is on the tab "
                    <a class="link" href=paths::workload(name)>"Clusters"</a>
                    "."
                </p>
                {show_operations(list, name, later)}
            </div>
        </details>
    }
    .into_any()
}

fn show_operations(list: OperationList, name: &str, later: bool) -> AnyView {
    let OperationList { page, selected, read_at: at } = list;
    let base = paths::workload_tab(name, WorkloadTab::History);
    if page.items.is_empty() && later {
        return view! { <EmptyPage first=base /> }.into_any();
    }
    if page.items.is_empty() {
        return view! { <p class="text-2">"Nothing was requested yet."</p> }.into_any();
    }
    let next = page.next.as_ref().map(|cursor| paths::query(&base, &[(CURSOR, cursor)]));
    let (shown, total) = (page.items.len(), page.total);
    let rows = page.items.into_iter().map(|operation| operation_row(operation, &base, at)).collect_view();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Operation"</th>
                    <th scope="col">"Requested"</th>
                    <th scope="col">"By"</th>
                    <th scope="col">"Outcome"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        <Pager shown=shown total=total noun="operations" first=later.then_some(base) next=next />
        {selected.map(|view| show_targets(view, at))}
    }
    .into_any()
}

fn operation_row(operation: Operation, base: &str, at: Timestamp) -> impl IntoView + use<> {
    let id = operation.id.to_string();
    let address = paths::query(base, &[(SELECTED, &id)]) + "#operation";
    view! {
        <tr>
            <th scope="row" class="cell-name">
                <a class="link" href=address>{describe(&operation)}</a>
            </th>
            <td class="cell-state">
                <Age since=operation.started_at at=at suffix=" ago" />
            </td>
            <td data-label="By">{operation.actor}</td>
            <td>{show_counts(operation.counts)}</td>
        </tr>
    }
}

/// `Publish r3`, `Sync`.
fn describe(operation: &Operation) -> String {
    let revision = operation.revision.map(|number| format!(" r{number}")).unwrap_or_default();
    format!("{}{revision}", operation.kind.label())
}

/// The clusters by outcome.
fn show_counts(counts: OperationCounts) -> AnyView {
    let parts = counts.parts().into_iter().filter(|(_, count)| *count > 0);
    let parts: Vec<_> = parts
        .map(|(status, count)| style(status).with_label(format!("{count} {}", status.label())))
        .collect();
    if parts.is_empty() {
        return "No cluster".into_any();
    }
    view! { <span class="flex flex-wrap gap-x-4 gap-y-1">{parts}</span> }.into_any()
}

/// The outcome has the shapes and colours of the states that it is closest to.
const fn style(status: OperationStatus) -> StatusStyle {
    StatusStyle::from_state(match status {
        OperationStatus::Pending => ReleaseState::Pending,
        OperationStatus::Running => ReleaseState::Applying,
        OperationStatus::Succeeded => ReleaseState::Healthy,
        OperationStatus::Failed => ReleaseState::Failed,
        OperationStatus::Deferred => ReleaseState::Unknown,
    })
}

/// The clusters of one operation; those that have not completed it first.
fn show_targets(view: OperationView, at: Timestamp) -> AnyView {
    let OperationView { operation, mut target_clusters, deliveries } = view;
    target_clusters.sort_by_key(|target| target.status == OperationStatus::Succeeded);
    let row = |target: OperationTarget| {
        // On a narrow screen the label stands beside the cell: none for an empty one.
        let label = target.error.is_some().then_some("Message");
        view! {
            <tr>
                <th scope="row" class="cell-name name">
                    <a href=paths::cluster(&target.cluster_name)>{target.cluster_name.clone()}</a>
                </th>
                <td class="cell-state">{style(target.status).with_label(target.status.label())}</td>
                <td data-label=label>{target.error.unwrap_or_default()}</td>
            </tr>
        }
    };
    let title = format!("{} on each cluster", describe(&operation));
    view! {
        <section class="stack-sm" id="operation" aria-labelledby="operation-title">
            <h3 class="section" id="operation-title">{title}</h3>
            <table class="table">
                <thead>
                    <tr>
                        <th scope="col">"Cluster"</th>
                        <th scope="col">"Outcome"</th>
                        <th scope="col">"Message"</th>
                    </tr>
                </thead>
                <tbody>{target_clusters.into_iter().map(row).collect_view()}</tbody>
            </table>
            {(!deliveries.is_empty()).then(|| view! {
                <h3 class="section">"Notifications"</h3>
                {delivery_table(deliveries, at)}
            })}
        </section>
    }
    .into_any()
}
