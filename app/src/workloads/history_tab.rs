//! The revisions, operations and events of a workload.

use domain::Timestamp;
use domain::page::Page;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::head::PublishedRevision;
use super::operations::Operations;
use crate::components::{Age, Empty, ErrorBanner, Pager, icon, render_resource_part};
use crate::errors::AppResult;
use crate::events::{EventRow, events_read};
use crate::paths::{self, WorkloadTab};
use crate::resource::create_resource;

/// A revision as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevisionRow {
    /// The revision.
    pub revision: PublishedRevision,
    /// Its source, in a few words.
    pub source: String,
}

/// One page of revisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevisionList {
    /// Newest first.
    pub page: Page<RevisionRow>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads one page of revisions.
#[server(prefix = "/api/fn", endpoint = "revisions_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn revisions_read(name: String, cursor: Option<String>) -> AppResult<RevisionList> {
    use crate::host;
    use domain::page::ListQuery;
    use domain::workload::Revision;
    let hub = host::hub_for_reader()?;
    let query = ListQuery { cursor, ..ListQuery::default() };
    let page = host::into_app_result(hub.list_revisions(&name, &query).await)?;
    let row = |revision: Revision| RevisionRow {
        source: revision.spec.source.summary(),
        revision: PublishedRevision::from(revision),
    };
    Ok(RevisionList { page: page.map(row), read_at: hub.clock().now() })
}

/// The tab with the revisions.
#[component]
pub fn HistoryTab(name: Memo<String>, version: RwSignal<u32>) -> impl IntoView {
    let query = use_query_map();
    let cursor = move || query.read().get("cursor");
    let data = create_resource(
        move || (name.get(), cursor(), version.get()),
        |(name, cursor, _)| revisions_read(name, cursor),
    );
    let restore = ServerAction::<WorkloadRestore>::new();
    view! {
        {move || restore.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
        {render_resource_part(data, move |history| show_revisions(history, &name.get(), cursor().is_some(), restore))}
        <Operations name=name version=version />
    }
}

/// Replaces the draft by the content of a revision and redirects to the review.
#[server(prefix = "/api/fn", endpoint = "workload_restore")]
pub async fn workload_restore(name: String, revision: u32) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.restore_revision(&host::actor()?, &name, revision, None).await)?;
    leptos_axum::redirect(&paths::publish(&name));
    Ok(())
}

fn show_revisions(
    history: RevisionList,
    name: &str,
    later: bool,
    restore: ServerAction<WorkloadRestore>,
) -> AnyView {
    let RevisionList { page, read_at: at } = history;
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
    let base = paths::workload_tab(name, WorkloadTab::History);
    let next = page.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let shown = page.items.len();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Revision"</th>
                    <th scope="col">"Published"</th>
                    <th scope="col">"By"</th>
                    <th scope="col">"Message"</th>
                    <th scope="col">"Source"</th>
                    <th scope="col">
                        <span class="sr-only">"Roll back"</span>
                    </th>
                </tr>
            </thead>
            <tbody>{page.items.into_iter().map(|revision| revision_row(revision, at, name, restore)).collect_view()}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="revisions" first=later.then_some(base) next=next />
    }
    .into_any()
}

fn revision_row(
    RevisionRow { revision, source }: RevisionRow,
    at: Timestamp,
    name: &str,
    restore: ServerAction<WorkloadRestore>,
) -> impl IntoView + use<> {
    let name = name.to_owned();
    let address = paths::revision(&name, revision.number);
    let back = roll_back_button(name, revision.number, "btn btn-sm", restore);
    view! {
        <tr>
            <th scope="row" class="cell-name">
                <a class="tag" href=address>
                    {format!("r{}", revision.number)}
                </a>
            </th>
            <td class="cell-state">
                <Age since=revision.created_at at=at suffix=" ago" />
            </td>
            <td data-label="By">{revision.author}</td>
            <td data-label="Message">{revision.message}</td>
            <td data-label="Source">{source}</td>
            <td class="right">{back}</td>
        </tr>
    }
}

/// The button that replaces the draft by the content of a revision.
pub(super) fn roll_back_button(
    name: String,
    revision: u32,
    class: &'static str,
    restore: ServerAction<WorkloadRestore>,
) -> impl IntoView + use<> {
    let title = format!("Replace the draft by the content of revision {revision}, then review it");
    let label = format!("Roll back to r{revision}");
    view! {
        <ActionForm action=restore>
            <input type="hidden" name="name" value=name />
            <input type="hidden" name="revision" value=revision.to_string() />
            <button class=class type="submit" title=title>
                {icon("undo")}
                {label}
            </button>
        </ActionForm>
    }
}

/// The tab with the events.
#[component]
pub fn EventsTab(name: Memo<String>, version: RwSignal<u32>) -> impl IntoView {
    let data = create_resource(
        move || (name.get(), version.get()),
        |(name, _)| events_read(name, String::new(), None),
    );
    render_resource_part(data, move |list| {
        let at = list.at;
        let all = paths::query(paths::EVENTS, &[("workload", &name.get())]);
        view! {
            <div class="list">
                {list.events.into_iter().map(|event| view! { <EventRow event=event at=at /> }).collect_view()}
            </div>
            <p class="table-foot">
                <a class="link" href=all>
                    "In the event log"
                </a>
            </p>
        }
        .into_any()
    })
}
