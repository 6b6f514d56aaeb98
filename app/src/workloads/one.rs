//! A workload: name, revision, phase, counts, verbs; its tabs below. Everything that chooses what is shown stands in the address.

use domain::workload::{Intent, WorkloadView};
use domain::{Timestamp, can};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::calls::{Head, head_read};
use super::clusters_tab::ClustersTab;
use super::dialogs::Dialogs;
use super::history_tab::{EventsTab, HistoryTab};
use super::leaving::LeavingSoon;
use super::rollout::RolloutPanel;
use super::wizard::Step;
use crate::components::{Age, CountLine, Refusal, Strip, count_of, loaded};
use crate::late::{self, Part, PlacementView, late};
use crate::live::{self, Topic};
use crate::paths::{self, Tab};

/// The page.
#[component]
pub fn WorkloadPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let tab = Memo::new(move |_| Tab::from_slug(&query.read().get("tab").unwrap_or_default()));
    let group = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let id = RwSignal::new(None);
    let version = live::version(move || id.get().map(Topic::Workload));
    let data = Resource::new(move || (name.get(), version.get()), |(name, _)| head_read(name));
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|head| head.view.workload.id)));
    view! {
        {move || view! { <Title text=name.get() /> }}
        <div class="stack-md">
            {loaded(data, move |head| show(head, tab, group))}
            {move || match tab.get() {
                Tab::Clusters => view! { <ClustersTab name=name group=group version=version /> }.into_any(),
                Tab::Config => late(Part::Source, late::source(Some(name))),
                Tab::Placement => late(Part::Placement, late::placement(PlacementView::Tab(name))),
                Tab::Overrides => late(Part::Overrides, late::overrides(Some(name))),
                Tab::History => view! { <HistoryTab name=name version=version /> }.into_any(),
                Tab::Events => view! { <EventsTab name=name version=version /> }.into_any(),
            }}
        </div>
    }
    .into_any()
}

fn show(head: Head, tab: Memo<Tab>, group: Memo<String>) -> AnyView {
    let Head { view, leaving, at } = head;
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
        move || view! { <CountLine counts=counts.clone() base=base.clone() active=group.get() note=note.clone() /> }
    };
    view! {
        <div class="stack-md">
            <NameLine view=view.clone() at=at />
            <Facts view=view.clone() />
            <LeavingSoon name=name.clone() leaving=leaving at=at />
            <RolloutPanel name=name.clone() rollout=view.rollout.clone() at=at />
            {(targeted > 0).then(|| view! { <Strip counts=counts.clone() /> })}
            {(counts.total() > 0).then_some(count_line)}
            <Tabs name=name.clone() clusters=targeted tab=tab />
            <Dialogs view=view />
        </div>
    }
    .into_any()
}

/// Name, revision, who and when; verbs right. A verb that can't be used says why.
#[component]
fn NameLine(view: WorkloadView, at: Timestamp) -> impl IntoView {
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
    let review = match can::publish(workload) {
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
            view! { <Refusal verb="Publish".to_owned() why=why.to_string() id="why-publish" /> }.into_any()
        }
    };
    let verb = |can: Result<(), can::WhyNot>, question: &'static str, word: &'static str, name: &str| {
        match can {
        Ok(()) => view! { <a class="btn" href=paths::workload_ask(name, question)>{word}</a> }.into_any(),
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
                {verb(can::delete(workload), "delete", "Delete…", &name)}
                {verb(can::unpublish(workload), "unpublish", "Unpublish…", &name)}
                {verb(can::sync(workload), "sync", "Sync…", &name)}
                {can::edit(workload).is_ok().then(|| view! { <a class="btn" href=Step::Source.path(&name)>"Edit"</a> })}
                {review}
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn Facts(view: WorkloadView) -> impl IntoView {
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
                <dd>{view.phase.word()}</dd>
            </div>
            <div>
                <dt>"Namespace"</dt>
                <dd class="mono">{draft.namespace.clone()}</dd>
            </div>
            <div>
                <dt>"Source"</dt>
                <dd>{count_of(files, "YAML file")}</dd>
            </div>
            <div>
                <dt>"Placement"</dt>
                <dd>{placed(&draft.placement)}</dd>
            </div>
            <div>
                <dt>"Draft"</dt>
                <dd>{state}</dd>
            </div>
        </dl>
    }
    .into_any()
}

/// A placement in a few words.
fn placed(placement: &domain::placement::Placement) -> String {
    let one = |predicate: &domain::placement::Predicate| {
        let names = u32::try_from(predicate.names.len()).unwrap_or(u32::MAX);
        let groups = predicate.groups.join(" or ");
        let (labels, facts) = (predicate.label_selector.to_string(), predicate.field_selector.to_string());
        let parts = [
            if names > 0 { count_of(names, "named cluster") } else { String::new() },
            if groups.is_empty() { String::new() } else { format!("group {groups}") },
            labels,
            facts,
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "every cluster".to_owned() } else { parts.join(" with ") }
    };
    let any: Vec<String> = placement.predicates.iter().map(one).collect();
    let base = if any.is_empty() { "nowhere yet".to_owned() } else { any.join(" or ") };
    match (placement.number_of_clusters, placement.exclude.len()) {
        (Some(n), _) => format!("{base}, at most {n}"),
        (None, 0) => base,
        (None, n) => format!("{base}, but {n}"),
    }
}

#[component]
fn Tabs(name: String, clusters: u32, tab: Memo<Tab>) -> impl IntoView {
    let link = move |one: Tab| {
        let number = (one == Tab::Clusters && clusters > 0)
            .then(|| view! { <span class="tab-count">{clusters}</span> });
        view! {
            <a href=paths::workload_tab(&name, one) aria-current=move || (tab.get() == one).then_some("page")>
                {one.word()}
                " "
                {number}
            </a>
        }
    };
    view! {
        <nav class="tabs" aria-label="Parts of this workload">
            {Tab::ALL.map(link).collect_view()}
        </nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::placement::{Placement, Predicate};

    #[test]
    fn a_placement_is_told_in_a_few_words() {
        let names = |n: usize| Predicate { names: vec![String::from("a"); n], ..Predicate::default() };
        let of = |predicates, number_of_clusters| {
            placed(&Placement { predicates, number_of_clusters, ..Placement::default() })
        };
        assert_eq!(of(vec![], None), "nowhere yet");
        assert_eq!(of(vec![names(2)], None), "2 named clusters");
        assert_eq!(of(vec![Predicate::default()], Some(3)), "every cluster, at most 3");
    }
}
