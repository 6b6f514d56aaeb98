//! The page of a workload: name, revision, phase, counts and actions; tabs below. Tab and filters are query parameters.

use domain::Timestamp;
use domain::workload::WorkloadFailure;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::clusters_tab::ClustersTab;
use super::dialogs::WorkloadDialogs;
use super::head::{ReportedHeal, WorkloadFacts, WorkloadHeader, WorkloadPageHead, workload_head_read};
use super::history_tab::HistoryTab;
use super::placement::pending_removals::PendingRemovals;
use super::rollout::panel::RolloutPanel;
use crate::address::{defer_change, read_tab};
use crate::components::{
    Age, PageTabs, StateCounts, StateStrip, UnknownTab, pluralize, render_resource, unbroken,
};
use crate::events::{EventScope, EventsTab};
use crate::live::{self, Topic};
use crate::paths::{self, WorkloadTab};
use crate::resource::create_resource;
use crate::suspension::{SuspendWorkload, WorkloadSuspension};

/// Renders the editor in a tab of the workload of this name.
pub type RenderEditor = fn(WorkloadTab, Memo<String>) -> AnyView;

/// The page of a workload.
#[component]
pub fn WorkloadPage(
    /// The editors: their code is fetched when a tab first displays one, so this module does not import them.
    editor: RenderEditor,
) -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let tab = Memo::new(move |_| read_tab(&query.read()));
    let shown_tab = defer_change(tab);
    let group = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let id = RwSignal::new(None);
    let version = live::watch_version(move || id.get().map(Topic::Workload));
    let data = create_resource(move || (name.get(), version.get()), |(name, _)| workload_head_read(name));
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|head| head.id)));
    view! {
        {move || view! { <Title text=name.get() /> }}
        <div class="stack-md">
            <WorkloadHeader data=data />
            {render_resource(data, move |head| show_workload(head, tab, group))}
            {move || match shown_tab.get() {
                Some(WorkloadTab::Clusters) => view! {
                    <ClustersTab name=name version=version />
                    <SuspendWorkload name=name.get() />
                }
                .into_any(),
                Some(tab @ (WorkloadTab::Config | WorkloadTab::Placement | WorkloadTab::Overrides | WorkloadTab::Policies)) => editor(tab, name),
                Some(WorkloadTab::History) => view! { <HistoryTab name=name version=version /> }.into_any(),
                None => view! { <UnknownTab first=paths::workload(&name.get()) /> }.into_any(),
                Some(WorkloadTab::Events) => view! { <EventsTab scope=EventScope::Workload name=name version=version /> }.into_any(),
            }}
        </div>
        <WorkloadDialogs name=name />
    }
    .into_any()
}

fn show_workload(head: WorkloadPageHead, tab: Memo<Option<WorkloadTab>>, group: Memo<String>) -> AnyView {
    let counts = head.counts.clone();
    let name = head.name.clone();
    let at = head.read_at;
    let targeted = counts.targeted();
    let base = paths::workload(&name);
    let note = match &head.published {
        Some(revision) if targeted > 0 => {
            format!("{} of {targeted} clusters healthy with r{}", counts.healthy(), revision.number)
        }
        _ => String::new(),
    };
    let count_line = {
        let counts = counts.clone();
        move || view! { <StateCounts counts=counts.clone() base=base.clone() active=group.get() note=note.clone() /> }
    };
    view! {
        <div class="stack-md">
            <WorkloadFacts head=head.clone() />
            {failure_list(&head.failures)}
            <PendingRemovals name=name.clone() removals=head.pending_removals.clone() at=at />
            <WorkloadSuspension name=name.clone() details=head.suspension.clone() />
            {heal_note(head.latest_heal.clone(), at)}
            <RolloutPanel name=name.clone() rollout=head.rollout.clone() at=at />
            {(targeted > 0).then(|| view! { <StateStrip counts=counts.clone() /> })}
            {(counts.total() > 0).then_some(count_line)}
            <WorkloadTabs name=name.clone() clusters=targeted tab=tab />
        </div>
    }
    .into_any()
}

/// The latest drift that was reverted, as a quiet line: it needs no action.
fn heal_note(heal: Option<ReportedHeal>, at: Timestamp) -> Option<AnyView> {
    let ReportedHeal { at: healed, message } = heal?;
    let note = view! {
        <p class="meta">
            "Drift reverted " <Age since=healed at=at suffix=" ago" /> ": " {unbroken(&message)}
        </p>
    };
    Some(note.into_any())
}

/// What the hub failed to do for the workload.
fn failure_list(failures: &[WorkloadFailure]) -> impl IntoView + use<> {
    let items = failures.iter().map(|failure| {
        let attempts = pluralize(failure.attempts, "attempt");
        view! { <p class="banner hue-degraded" role="alert">{format!("{} ({attempts})", failure.message)}</p> }
    });
    items.collect_view()
}

#[component]
fn WorkloadTabs(name: String, clusters: u32, tab: Memo<Option<WorkloadTab>>) -> impl IntoView {
    let link = move |one: WorkloadTab| {
        let number = (one == WorkloadTab::Clusters && clusters > 0)
            .then(|| view! { <span class="tab-count">{clusters}</span> });
        view! {
            <a href=paths::workload_tab(&name, one) aria-current=move || (tab.get() == Some(one)).then_some("page")>
                {one.label()}
                " "
                {number}
            </a>
        }
    };
    view! {
        <PageTabs label="Parts of this workload" current=Signal::derive(move || tab.get().map_or("", WorkloadTab::label))>
            {WorkloadTab::ALL.map(link).collect_view()}
        </PageTabs>
    }
    .into_any()
}
