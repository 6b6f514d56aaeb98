//! The page of a workload: name, revision, phase, counts and actions; tabs below. Tab and filters are query parameters.

use domain::workload::{Intent, WorkloadFailure, WorkloadView};
use domain::{Timestamp, actions};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::clusters_tab::ClustersTab;
use super::dialogs::WorkloadDialogs;
use super::history_tab::{EventsTab, HistoryTab};
use super::placement::pending_removals::PendingRemovals;
use super::queries::{WorkloadHead, workload_head_read};
use super::rollout::panel::RolloutPanel;
use super::wizard::WizardStep;
use crate::components::{Age, DisabledButton, StateCounts, StateStrip, pluralize, render_resource};
use crate::live::{self, Topic};
use crate::paths::{self, WorkloadTab};

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
    let tab = Memo::new(move |_| WorkloadTab::from_slug(&query.read().get("tab").unwrap_or_default()));
    let group = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let id = RwSignal::new(None);
    let version = live::watch_version(move || id.get().map(Topic::Workload));
    let data = Resource::new(move || (name.get(), version.get()), |(name, _)| workload_head_read(name));
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|head| head.view.workload.id)));
    view! {
        {move || view! { <Title text=name.get() /> }}
        <div class="stack-md">
            {render_resource(data, move |head| show_workload(head, tab, group))}
            {move || match tab.get() {
                WorkloadTab::Clusters => view! { <ClustersTab name=name group=group version=version /> }.into_any(),
                tab @ (WorkloadTab::Config | WorkloadTab::Placement | WorkloadTab::Overrides) => editor(tab, name),
                WorkloadTab::History => view! { <HistoryTab name=name version=version /> }.into_any(),
                WorkloadTab::Events => view! { <EventsTab name=name version=version /> }.into_any(),
            }}
        </div>
    }
    .into_any()
}

fn show_workload(head: WorkloadHead, tab: Memo<WorkloadTab>, group: Memo<String>) -> AnyView {
    let WorkloadHead { view, pending_removals, read_at: at } = head;
    let counts = view.counts.clone();
    let name = view.workload.name.clone();
    let targeted = counts.targeted();
    let base = paths::workload(&name);
    let note = match view.workload.published {
        Some(number) if targeted > 0 => format!("{} of {targeted} clusters run r{number}", counts.healthy()),
        _ => String::new(),
    };
    let count_line = {
        let counts = counts.clone();
        move || view! { <StateCounts counts=counts.clone() base=base.clone() active=group.get() note=note.clone() /> }
    };
    view! {
        <div class="stack-md">
            <WorkloadHeader view=view.clone() at=at />
            <WorkloadFacts view=view.clone() />
            {failure_list(&view.failures)}
            <PendingRemovals name=name.clone() removals=pending_removals at=at />
            <RolloutPanel name=name.clone() rollout=view.rollout.clone() at=at />
            {(targeted > 0).then(|| view! { <StateStrip counts=counts.clone() /> })}
            {(counts.total() > 0).then_some(count_line)}
            <WorkloadTabs name=name.clone() clusters=targeted tab=tab />
            <WorkloadDialogs view=view />
        </div>
    }
    .into_any()
}

/// What the hub failed to do for the workload.
fn failure_list(failures: &[WorkloadFailure]) -> impl IntoView + use<> {
    let items = failures.iter().map(|failure| {
        let attempts = pluralize(failure.attempts, "attempt");
        view! { <p class="banner hue-degraded" role="alert">{format!("{} ({attempts})", failure.message)}</p> }
    });
    items.collect_view()
}

/// Name, revision, author and time, then the actions. An unavailable action shows its reason.
#[component]
fn WorkloadHeader(view: WorkloadView, at: Timestamp) -> impl IntoView {
    let workload = &view.workload;
    let name = workload.name.clone();
    let story = view.published_revision.as_ref().map(|revision| {
        let message =
            if revision.message.is_empty() { String::new() } else { format!(", “{}”", revision.message) };
        view! {
            <a class="tag" href=paths::revision(&name, revision.number)>
                {format!("r{}", revision.number)}
            </a>
            <span class="text-2">
                "published "
                <Age since=revision.created_at at=at suffix=" ago" />
                {format!(" by {}{message}", revision.author)}
            </span>
        }
    });
    let review = match actions::check_publish(workload) {
        Ok(()) => {
            let next = workload.published.map_or(1, |n| n + 1);
            let verb = if workload.intent == Intent::Unpublished {
                "Review".to_owned()
            } else {
                format!("Review r{next}")
            };
            view! {
                <a class="btn btn-primary" href=paths::publish(&name)>
                    {verb}
                </a>
            }
            .into_any()
        }
        Err(why) => {
            view! { <DisabledButton verb="Publish".to_owned() why=why.to_string() id="why-publish" /> }
                .into_any()
        }
    };
    let verb = |can: Result<(), actions::ActionUnavailable>,
                question: &'static str,
                word: &'static str,
                name: &str| {
        match can {
        Ok(()) => view! { <a class="btn" href=paths::workload_dialog(name, question)>{word}</a> }.into_any(),
        Err(why) => view! { <button class="btn" type="button" aria-disabled="true" title=why.to_string()>{word}</button> }.into_any(),
    }
    };
    view! {
        <div class="head">
            <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                <h1 class="title-mono">{name.clone()}</h1>
                {workload.draft.addon.then(|| view! { <span class="tag">"addon"</span> })}
                {story}
            </div>
            <div class="head-actions">
                {verb(actions::check_delete(workload), "delete", "Delete…", &name)}
                {verb(actions::check_unpublish(workload), "unpublish", "Unpublish…", &name)}
                {verb(actions::check_sync(workload), "sync", "Sync…", &name)}
                {actions::check_edit(workload).is_ok().then(|| view! { <a class="btn" href=WizardStep::Source.path(&name)>"Edit"</a> })}
                {review}
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn WorkloadFacts(view: WorkloadView) -> impl IntoView {
    let draft = &view.workload.draft;
    let files = u32::try_from(draft.source.files().len()).unwrap_or(u32::MAX);
    let state = match (view.workload.intent, view.workload.draft_changed) {
        (Intent::Draft, _) => "not published yet",
        (_, true) => "differs from what is published",
        (_, false) => "as published",
    };
    view! {
        <dl class="facts">
            <div>
                <dt>"Phase"</dt>
                <dd>{view.phase.label()}</dd>
            </div>
            <div>
                <dt>"Namespace"</dt>
                <dd class="mono">{draft.namespace.clone()}</dd>
            </div>
            <div>
                <dt>"Source"</dt>
                <dd>{pluralize(files, "YAML file")}</dd>
            </div>
            <div>
                <dt>"Placement"</dt>
                <dd>{describe_placement(&draft.placement)}</dd>
            </div>
            <div>
                <dt>"Draft"</dt>
                <dd>{state}</dd>
            </div>
        </dl>
    }
    .into_any()
}

/// Summarises a placement.
fn describe_placement(placement: &domain::placement::Placement) -> String {
    let one = |predicate: &domain::placement::Predicate| {
        let names = u32::try_from(predicate.names.len()).unwrap_or(u32::MAX);
        let groups = predicate.groups.join(" or ");
        let (labels, facts) = (predicate.label_selector.to_string(), predicate.field_selector.to_string());
        let parts = [
            if names > 0 { pluralize(names, "named cluster") } else { String::new() },
            if groups.is_empty() { String::new() } else { format!("group {groups}") },
            labels,
            facts,
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "every cluster".to_owned() } else { parts.join(" with ") }
    };
    let any: Vec<String> = placement.predicates.iter().map(one).collect();
    let base = if any.is_empty() { "no selection yet".to_owned() } else { any.join(" or ") };
    match (placement.number_of_clusters, placement.exclude.len()) {
        (Some(n), _) => format!("{base}, at most {n}"),
        (None, 0) => base,
        (None, n) => format!("{base}, except {n}"),
    }
}

#[component]
fn WorkloadTabs(name: String, clusters: u32, tab: Memo<WorkloadTab>) -> impl IntoView {
    let link = move |one: WorkloadTab| {
        let number = (one == WorkloadTab::Clusters && clusters > 0)
            .then(|| view! { <span class="tab-count">{clusters}</span> });
        view! {
            <a href=paths::workload_tab(&name, one) aria-current=move || (tab.get() == one).then_some("page")>
                {one.label()}
                " "
                {number}
            </a>
        }
    };
    view! {
        <nav class="tabs" aria-label="Parts of this workload">
            {WorkloadTab::ALL.map(link).collect_view()}
        </nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::placement::{Placement, Predicate};

    #[test]
    fn a_placement_is_summarised() {
        let names = |n: usize| Predicate { names: vec![String::from("a"); n], ..Predicate::default() };
        let of = |predicates, number_of_clusters| {
            describe_placement(&Placement { predicates, number_of_clusters, ..Placement::default() })
        };
        assert_eq!(of(vec![], None), "no selection yet");
        assert_eq!(of(vec![names(2)], None), "2 named clusters");
        assert_eq!(of(vec![Predicate::default()], Some(3)), "every cluster, at most 3");
    }
}
