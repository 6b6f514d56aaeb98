//! The table of workloads.

use std::collections::BTreeMap;

use domain::release::ReleaseState;
use domain::workload::{WorkloadOrder, WorkloadPhase, WorkloadSummary};
use domain::{Timestamp, WorkloadId};
use leptos::prelude::*;

use super::WorkloadList;
use super::list_address::ListAddress;
use super::selection::RowSelection;
use crate::components::counts::describe_counts;
use crate::components::{Age, Empty, EmptyPage, Pager, StateStrip, StatusStyle};
use crate::paths;

/// The table of one page.
pub fn show_list(list: WorkloadList, filter: &ListAddress, selection: RowSelection) -> AnyView {
    let WorkloadList { page, messages, read_at: at, .. } = list;
    let mut messages: BTreeMap<WorkloadId, String> = messages.into_iter().collect();
    selection.set_page(page.items.iter().map(|one| one.name.clone()).collect());
    let order = filter.parse_order();
    let first = (!filter.cursor.is_empty()).then(|| filter.page_address(order, ""));
    if page.items.is_empty() {
        if let Some(first) = first {
            return view! { <EmptyPage first=first /> }.into_any();
        }
        let is_filtered = [&filter.q, &filter.labels, &filter.state].iter().any(|part| !part.is_empty());
        return show_empty(is_filtered).into_any();
    }
    let next = page.next.as_ref().map(|cursor| filter.page_address(order, cursor));
    let shown = page.items.len();
    let rows = page.items.into_iter().map(|one| {
        let message = messages.remove(&one.id).unwrap_or_default();
        workload_row(one, message, at, selection)
    });
    let rows = rows.collect_view();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <td class="cell-pick">{selection.page_checkbox()}</td>
                    {filter.column("Workload", WorkloadOrder::Name, "ascending", "")}
                    {filter.column("State", WorkloadOrder::WorstFirst, "descending", "")}
                    <th scope="col">"Releases"</th>
                    {filter.column("Healthy", WorkloadOrder::LeastHealthy, "ascending", "right")}
                    {filter.column("Revision", WorkloadOrder::Revision, "descending", "")}
                    {filter.column("Namespace", WorkloadOrder::Namespace, "ascending", "")}
                    {filter.column("Changed", WorkloadOrder::Newest, "descending", "")}
                    <th scope="col" class="sm:max-xl:hidden">"Message"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="workloads" first=first next=next />
    }
    .into_any()
}

/// A row; `message` is that of the worst failing or blocked release.
fn workload_row(
    one: WorkloadSummary,
    message: String,
    at: Timestamp,
    selection: RowSelection,
) -> impl IntoView {
    let href = paths::workload(&one.name);
    let targeted = one.counts.targeted();
    let worst = one.counts.worst().filter(|_| targeted > 0).map(|state| worst_state(state, &one));
    let unreadable = one
        .unreadable
        .clone()
        .map(|why| view! { <span class="meta" role="note">"Unreadable. " {why}</span> });
    let suspended = one.suspension.as_ref().filter(|_| one.counts.worst() != Some(ReleaseState::Suspended));
    let suspended = suspended.map(|_| view! { <span class="meta">" suspended"</span> });
    let state = worst.unwrap_or_else(|| view! { <span class="text-2">{one.phase.label()}</span> }.into_any());
    let revision = match one.published {
        Some(number) => view! { <span class="tag">{format!("r{number}")}</span> }.into_any(),
        None => view! { <span class="text-3">"none"</span> }.into_any(),
    };
    let draft = (one.draft_changed && one.published.is_some())
        .then(|| view! { <span class="meta">" + draft"</span> });
    let strip =
        (targeted > 0).then(|| view! { <StateStrip counts=one.counts.clone() class="strip strip-row" /> });
    let first_line =
        (!message.is_empty()).then(|| view! { <span class="line-clamp-1">{message.clone()}</span> });
    view! {
        <tr class:row-selected=selection.is_selected(&one.name)>
            <td class="cell-pick">{selection.row_checkbox(one.name.clone())}</td>
            <th scope="row" class="cell-name name">
                <a href=href>{one.name.clone()}</a>
            </th>
            <td class="cell-state">{state} {suspended} {unreadable}</td>
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
            <td class="min-w-48 sm:max-xl:hidden" title=message>
                {first_line}
            </td>
        </tr>
    }
}

/// The most severe state of the releases with their number, and the phase where it is no consequence of them.
fn worst_state(state: ReleaseState, one: &WorkloadSummary) -> AnyView {
    let (count, targeted) = (one.counts.count(state), one.counts.targeted());
    let of =
        (count < targeted).then(|| view! { <span class="meta">{format!(" {count} of {targeted}")}</span> });
    let phase = matches!(one.phase, WorkloadPhase::Unpublishing | WorkloadPhase::Deleting)
        .then(|| view! { <span class="meta">{format!(" {}", one.phase.label())}</span> });
    view! {
        {StatusStyle::from_state(state).with_label(state.label())}
        {of}
        {phase}
    }
    .into_any()
}

fn show_empty(is_filtered: bool) -> impl IntoView {
    if !is_filtered {
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
        <Empty title="No workload matches" text="No name contains this text with these labels and a release in this state.">
            <a class="btn" href=paths::WORKLOADS>
                "Show all"
            </a>
        </Empty>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    fn summary(states: &[ReleaseState]) -> WorkloadSummary {
        WorkloadSummary {
            id: domain::WorkloadId::from_parts(1, 1),
            name: "shop".to_owned(),
            namespace: "shop".to_owned(),
            phase: WorkloadPhase::Published,
            published: Some(1),
            draft_changed: false,
            counts: states.iter().copied().collect(),
            updated_by: "demo".to_owned(),
            updated_at: Timestamp::default(),
            unreadable: None,
            suspension: None,
        }
    }

    #[test]
    fn a_row_shows_the_icon_of_the_state_that_it_names() {
        for &state in ReleaseState::ALL {
            let html = render_html(move || worst_state(state, &summary(&[state])));
            let icon = format!("/icons.svg#{}\"", StatusStyle::from_state(state).icon);
            assert!(html.contains(&icon) && html.contains(state.label()), "{state:?} in {html}");
        }
    }
}
