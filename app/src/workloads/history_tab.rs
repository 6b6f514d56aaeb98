//! The revisions and operations of a workload.

use domain::Timestamp;
use domain::operation::OperationCounts;
use domain::page::Page;
use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::head::PublishedRevision;
use super::operations::Operations;
use crate::address::use_tab_query;
use crate::components::{Age, Empty, EmptyPage, Pager, StatusStyle, icon, render_resource_part};
use crate::errors::AppResult;
use crate::paths::{self, WorkloadTab};
use crate::resource::create_resource;

/// A revision as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevisionRow {
    /// The revision.
    pub revision: PublishedRevision,
    /// Its source, in a few words.
    pub source: String,
    /// What rendered its chart, such as `Helm v4.2.4`; `None` for manifests, and if it is not recorded.
    pub renderer: Option<String>,
    /// Whether there is a revision before it.
    pub has_previous: bool,
    /// The files and parts that changed since the revision before it.
    pub changed: Vec<String>,
    /// The earlier revision with the same content: this one is a rollback to it.
    pub same_as: Option<u32>,
    /// The next revision, if that is a rollback to an earlier one than this.
    pub rolled_back_by: Option<u32>,
    /// The outcome of its publish by cluster; `None` if it is not recorded.
    pub outcome: Option<OperationCounts>,
}

/// One page of revisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevisionList {
    /// Newest first.
    pub page: Page<RevisionRow>,
    /// The revision that should run now.
    pub current: Option<u32>,
    /// The releases by state now.
    pub counts: ReleaseCounts,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads one page of revisions.
#[server(prefix = "/api/fn", endpoint = "revisions_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn revisions_read(name: String, cursor: Option<String>) -> AppResult<RevisionList> {
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery { cursor, ..ListQuery::default() };
    let history = host::into_app_result(hub.list_history(&name, &query).await)?;
    let row = |entry: hub::RevisionEntry| RevisionRow {
        source: entry.revision.spec.source.summary(),
        renderer: entry.revision.renderer(),
        has_previous: entry.previous.is_some(),
        changed: entry.changed,
        same_as: entry.same_as,
        rolled_back_by: entry.rolled_back_by,
        outcome: entry.operation.map(|operation| operation.counts),
        revision: PublishedRevision::from(entry.revision),
    };
    let hub::RevisionHistory { page, current, counts } = history;
    Ok(RevisionList { page: page.map(row), current, counts, read_at: hub.clock().now() })
}

/// The tab with the revisions.
#[component]
pub fn HistoryTab(name: Memo<String>, version: RwSignal<u32>) -> impl IntoView {
    let query = use_tab_query();
    let cursor = move || query.read().get("cursor");
    let data = create_resource(
        move || (name.get(), cursor(), version.get()),
        |(name, cursor, _)| revisions_read(name, cursor),
    );
    view! {
        {render_resource_part(data, move |history| show_revisions(history, &name.get(), cursor().is_some()))}
        <Operations name=name version=version />
    }
}

fn show_revisions(history: RevisionList, name: &str, later: bool) -> AnyView {
    let RevisionList { page, current, counts, read_at: at } = history;
    let base = paths::workload_tab(name, WorkloadTab::History);
    if page.items.is_empty() && later {
        return view! { <EmptyPage first=base /> }.into_any();
    }
    if page.items.is_empty() {
        let review = paths::publish(name);
        return view! {
            <Empty title="Never published" text="Each publish stores the draft as a numbered revision, which is listed here.">
                <a class="btn" href=review>
                    "Review"
                </a>
            </Empty>
        }
        .into_any();
    }
    let next = page.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let shown = page.items.len();
    let row = |row: RevisionRow| {
        let running = (current == Some(row.revision.number)).then(|| counts.clone());
        revision_row(row, at, name, (current, running))
    };
    view! {
        <table class="table history-table">
            <thead>
                <tr>
                    <th scope="col">"Revision"</th>
                    <th scope="col">"Published"</th>
                    <th scope="col">"By"</th>
                    <th scope="col">"Message and changes"</th>
                    <th scope="col">"Outcome"</th>
                    <th scope="col">
                        <span class="sr-only">"Actions"</span>
                    </th>
                </tr>
            </thead>
            <tbody>{page.items.into_iter().map(row).collect_view()}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="revisions" first=later.then_some(base) next=next />
    }
    .into_any()
}

/// A row. `current` is the number of the revision that should run; `running` are the releases by state now if it is this one.
fn revision_row(
    row: RevisionRow,
    at: Timestamp,
    name: &str,
    (current, running): (Option<u32>, Option<ReleaseCounts>),
) -> impl IntoView + use<> {
    let changes = describe_changes(&row);
    let number = row.revision.number;
    let compare = comparison_address(&row, name, current);
    let RevisionRow { revision, source, renderer, outcome, rolled_back_by, .. } = row;
    let address = paths::revision(name, number);
    let is_current = running.is_some();
    let compare = compare.map(|(href, title)| {
        view! {
            <a class=ROW_BUTTON href=href title=title>
                "Compare"
                <span class="sr-only">{format!(" r{number}")}</span>
            </a>
        }
    });
    let actions = (!is_current).then(|| revision_actions(name, number, ROW_BUTTON));
    let message =
        (!revision.message.is_empty()).then(|| view! { <p class="text-ink">{revision.message}</p> });
    view! {
        <tr>
            <th scope="row" class="cell-name">
                <a class="tag" href=address>
                    {format!("r{number}")}
                </a>
            </th>
            <td class="cell-state">
                {is_current.then(|| view! { <span class="label">"current"</span> " " })}
                <Age since=revision.created_at at=at suffix=" ago" />
            </td>
            <td class="max-sm:hidden">{revision.author.clone()}</td>
            <td>
                {message}
                <p class="meta" title=source>
                    <span class="sm:hidden">{revision.author} " · "</span>
                    {changes}
                    {renderer.map(|renderer| format!(" · {renderer}"))}
                </p>
            </td>
            <td>
                {show_outcome(outcome, running)}
                {rolled_back_by.map(|number| view! { <p class="meta">{format!("Rolled back by r{number}")}</p> })}
            </td>
            <td class="right">
                <span class="flex flex-wrap justify-end gap-1">
                    {compare} {actions}
                </span>
            </td>
        </tr>
    }
}

/// The buttons of a row are quiet: there are as many as revisions.
const ROW_BUTTON: &str = "btn btn-sm btn-quiet";

/// The page that compares a revision with the current one, or the current one with the one before, and what it shows.
fn comparison_address(row: &RevisionRow, name: &str, current: Option<u32>) -> Option<(String, String)> {
    let number = row.revision.number;
    let page = paths::revision(name, number);
    match current {
        Some(current) if current != number => {
            let href = paths::compare_revisions(name, number, current);
            Some((href, format!("Compare r{number} with r{current}, the current revision")))
        }
        _ if row.has_previous => Some((page, format!("Compare r{number} with the revision before"))),
        _ => None,
    }
}

/// What changed since the revision before it.
fn describe_changes(row: &RevisionRow) -> String {
    match (row.same_as, row.has_previous) {
        (Some(other), _) => format!("Same content as r{other}"),
        (None, false) => format!("First revision: {}", row.source),
        (None, true) if row.changed.is_empty() => "Nothing changed".to_owned(),
        (None, true) => format!("Changed: {}", row.changed.join(", ")),
    }
}

/// On how many clusters the revision was healthy: now if it is the one that should run, else when the next operation started.
fn show_outcome(outcome: Option<OperationCounts>, running: Option<ReleaseCounts>) -> AnyView {
    if let Some(counts) = running.filter(|counts| counts.targeted() > 0) {
        return show_current_outcome(&counts);
    }
    let Some(counts) = outcome else {
        return view! { <span class="text-3">"Not recorded"</span> }.into_any();
    };
    let all = counts.total();
    match counts.healthy {
        _ if all == 0 => "No cluster".into_any(),
        Some(healthy) => {
            let state = match () {
                () if counts.is_healthy() => ReleaseState::Healthy,
                () if counts.failed > 0 => ReleaseState::Failed,
                () => ReleaseState::Removed,
            };
            let label = match counts.failed {
                0 => format!("Healthy on {healthy} of {all}"),
                failed => format!("{failed} of {all} failed"),
            };
            StatusStyle::from_state(state).with_label(label).into_any()
        }
        None => view! { <span class="text-2">{format!("Applied on {} of {all}", counts.succeeded)}</span> }
            .into_any(),
    }
}

/// How many releases are in the worst state now; a failing one is never called healthy.
fn show_current_outcome(counts: &ReleaseCounts) -> AnyView {
    let all = counts.targeted();
    let worst = counts.iter_by_severity().next();
    let (state, label) = match worst {
        Some((state, _)) if state.is_failing() => {
            (state, format!("{} of {all} failing now", counts.failing()))
        }
        Some((state, number)) if !matches!(state, ReleaseState::Healthy) && number < all => {
            (state, format!("{number} of {all} {} now", state.label().to_lowercase()))
        }
        Some((ReleaseState::Healthy, _)) | None => {
            (ReleaseState::Healthy, format!("Healthy on {} of {all} now", counts.healthy()))
        }
        Some((state, _)) => (state, format!("{} on all {all} now", state.label())),
    };
    StatusStyle::from_state(state).with_label(label).into_any()
}

/// The links that roll back to a revision and that copy it to the draft.
pub(super) fn revision_actions(name: &str, revision: u32, class: &'static str) -> impl IntoView + use<> {
    view! {
        <span class="flex flex-wrap justify-end gap-2">
            <a class=class href=paths::copy_to_draft(name, revision) title=format!("Replace the draft by the content of revision {revision}")>
                "Copy to draft…"
            </a>
            <a class=class href=paths::roll_back(name, revision) title=format!("Plan and publish revision {revision} again; the draft stays as it is")>
                {icon("undo")}
                {format!("Roll back to r{revision}…")}
            </a>
        </span>
    }
}
