//! The lists beside the form: selected clusters with the number of overridden fields, and overrides.

use domain::authorization::UserAction;
use domain::cluster::Cluster;
use domain::overrides::{DEFAULT_PRIORITY, Override};
use domain::values::{ValueProvenance, ValuesLayer};
use leptos::ev::MouseEvent;
use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::actions::OverrideRemove;
use super::state::{EditorState, find_own_override, merge_for_cluster, trace_chart_values};
use crate::address::use_tab_query;
use crate::components::{icon, pluralize};
use crate::paths;
use crate::permission::Permission;

/// Most clusters that are listed.
const ROWS: usize = 40;

/// The selected clusters, each with the number of its overridden fields and a link that shows its values.
pub(super) fn cluster_list(state: EditorState, follow: Callback<(MouseEvent, String)>) -> AnyView {
    let search = RwSignal::new(String::new());
    let all = state.selected.with_value(Vec::len);
    let find = (all > ROWS).then(|| {
        view! {
            <input
                class="input input-mono"
                type="search"
                aria-label="Find a cluster"
                placeholder="Find a cluster"
                autocomplete="off"
                on:input=move |ev| search.set(event_target_value(&ev))
            />
        }
    });
    let rows = Memo::new(move |_| {
        let search = search.get().trim().to_lowercase();
        let shown: Vec<String> = state.selected.with_value(|chosen| {
            chosen.iter().filter(|name| name.contains(&search)).take(ROWS).cloned().collect()
        });
        let differ = |name: &String| {
            let cluster = state
                .fleet
                .with_value(|fleet| fleet.clusters.iter().find(|cluster| cluster.name == *name).cloned())?;
            let n = state.overrides.with(|typed| count_differences(state, typed, &cluster));
            Some((name.clone(), n))
        };
        shown.iter().filter_map(differ).collect::<Vec<_>>()
    });
    let row = move |(name, differ): (String, Option<usize>)| {
        // A cluster with an override of its own opens it; any other is the target of a new one.
        let own = state.workload.with_value(|workload| {
            find_own_override(&workload.draft.overrides, &name).map(|own| own.name.clone())
        });
        let href = page_link(own.unwrap_or_default(), name.clone());
        let there = href.clone();
        let at = {
            let name = name.clone();
            move || {
                let is_at = state.cluster.with(|at| at.as_ref().is_some_and(|at| at.name == name));
                is_at.then_some("true")
            }
        };
        view! {
            <li>
                <a class="override-cluster" href=href aria-current=at on:click=move |event| follow.run((event, there()))>
                    <span class="name">{name}</span>
                    <span class="meta">{count_label(differ)}</span>
                </a>
            </li>
        }
    };
    let heading = pluralize(u32::try_from(all).unwrap_or(u32::MAX), "cluster");
    view! {
        <nav class="stack-sm" aria-label="Target clusters">
            <div class="flex items-baseline justify-between gap-2">
                <h2 class="section">{heading}</h2>
                <span class="meta" aria-hidden="true">
                    "fields that differ"
                </span>
            </div>
            {find}
            {(all == 0).then(|| view! { <p class="text-3">"The placement selects no cluster yet."</p> })}
            <ul class="override-clusters">{move || rows.get().into_iter().map(row).collect_view()}</ul>
            {(all > ROWS).then(|| view! { <p class="meta">{format!("{ROWS} at a time; find others by name")}</p> })}
        </nav>
    }
    .into_any()
}

/// The overrides of the draft, lowest priority first, with links to edit and buttons to remove them; also while there are none, because
/// only "New override" leads to one that is not for a single cluster.
pub(super) fn override_list(
    state: EditorState,
    remove: ServerAction<OverrideRemove>,
    follow: Callback<(MouseEvent, String)>,
) -> AnyView {
    let mut all = state.workload.with_value(|workload| workload.draft.overrides.clone());
    all.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
    let heading = match all.len() {
        0 => "No overrides".to_owned(),
        n => pluralize(u32::try_from(n).unwrap_or(u32::MAX), "override"),
    };
    let about = match all.len() {
        0 => "The first one can be for a group, for labels or facts, or for every cluster too.",
        _ => "Later wins: group, labels or facts, cluster by name; then priority, then name.",
    };
    let rows = all.into_iter().map(|over| override_row(state, over, remove, follow)).collect_view();
    view! {
        <nav class="stack-sm override-list" aria-label="Overrides of the draft">
            <h2 class="section">{heading}</h2>
            <ul>{rows}</ul>
            <p class="meta">{about}</p>
            <div>
                <a class="btn btn-sm" href=new_link()>
                    {plus_label("New override")}
                </a>
            </div>
        </nav>
    }
    .into_any()
}

/// One override: its name, its target and the number of its changes.
fn override_row(
    state: EditorState,
    over: Override,
    remove: ServerAction<OverrideRemove>,
    follow: Callback<(MouseEvent, String)>,
) -> AnyView {
    let name = over.name.clone();
    let workload = state.workload.with_value(|workload| workload.name.clone());
    let is_at = state.edited_name.with_value(|edited| *edited == name);
    let about = describe_override(&over);
    let label = format!("Remove override {name}");
    let removed = name.clone();
    let href = override_link(state, over);
    let there = href.clone();
    view! {
        <li class="override-item">
            <a class="override-link" href=href aria-current=is_at.then_some("true") on:click=move |event| follow.run((event, there()))>
                <span class="name">{name}</span>
                <span class="meta">{about}</span>
            </a>
            <ActionForm action=remove>
                <Permission action=UserAction::Edit quiet=true>
                    <input type="hidden" name="name" value=workload />
                    <input type="hidden" name="base_revision" value=move || state.base_revision.get().to_string() />
                    <input type="hidden" name="override_name" value=removed />
                    <button class="btn btn-sm btn-icon btn-quiet" type="submit" aria-label=label.clone() title=label>
                        {icon("close")}
                    </button>
                </Permission>
            </ActionForm>
        </li>
    }
    .into_any()
}

/// `group europe · 1 change`; the priority only if it is not the default.
fn describe_override(over: &Override) -> String {
    let patches = pluralize(u32::try_from(over.patches.len()).unwrap_or(u32::MAX), "change");
    let changes = match (over.values.trim().is_empty(), over.patches.is_empty()) {
        (true, _) => patches,
        (false, true) => "chart values".to_owned(),
        (false, false) => format!("chart values, {patches}"),
    };
    let priority = match over.priority {
        DEFAULT_PRIORITY => String::new(),
        priority => format!(" · priority {priority}"),
    };
    format!("{:.3}{priority} · {changes}", over.target)
}

/// The URL of this page with a new override that has no target yet.
fn new_link() -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let (path, query) = (use_location().pathname, use_tab_query());
    move || {
        let query = query.read();
        let get = |name: &str| query.get(name).unwrap_or_default();
        let (tab, cluster) = (get("tab"), get("cluster"));
        paths::query(&path.get(), &[("tab", tab.as_str()), ("new", "true"), ("cluster", &cluster)])
    }
}

/// The URL of this page with an override and a cluster.
fn page_link(over: String, cluster: String) -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let (path, query) = (use_location().pathname, use_tab_query());
    move || {
        let tab = query.read().get("tab").unwrap_or_default();
        let pairs = [("tab", tab.as_str()), ("override", &over), ("cluster", &cluster)];
        paths::query(&path.get(), &pairs)
    }
}

/// The URL of this page with an override; the shown cluster stays if the override applies to it.
fn override_link(state: EditorState, over: Override) -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let (path, query) = (use_location().pathname, use_tab_query());
    move || {
        let tab = query.read().get("tab").unwrap_or_default();
        let is_target = |cluster: &Cluster| {
            state.fleet.with_value(|fleet| over.target.specificity(cluster, &fleet.groups).is_some())
        };
        let shown = state
            .cluster
            .with(|shown| shown.as_ref().filter(|one| is_target(one)).map(|one| one.name.clone()));
        let shown = shown.unwrap_or_default();
        paths::query(&path.get(), &[("tab", tab.as_str()), ("override", &over.name), ("cluster", &shown)])
    }
}

/// The number of fields and values that overrides set on a cluster; `None` if the values can't be listed.
fn count_differences(state: EditorState, typed: &[Override], cluster: &Cluster) -> Option<usize> {
    let merged = merge_for_cluster(typed, cluster, (state.objects, state.workload), state.fleet);
    let fields = merged.provenance.len();
    let traced = state
        .workload
        .with_value(|workload| trace_chart_values(workload, typed, cluster, (state.fleet, state.project)));
    let is_overridden = |leaf: &&ValueProvenance| {
        leaf.settings.first().is_some_and(|one| matches!(one.layer, ValuesLayer::Override { .. }))
    };
    let values = traced.transpose().ok()?.unwrap_or_default();
    Some(fields + values.iter().filter(is_overridden).count())
}

/// The number under the head "fields that differ"; its unit is only read aloud.
fn count_label(differ: Option<usize>) -> AnyView {
    match differ {
        None => "unknown".into_any(),
        Some(0) => "same".into_any(),
        Some(1) => view! { "1" <span class="sr-only">" field differs"</span> }.into_any(),
        Some(n) => view! { {n} <span class="sr-only">" fields differ"</span> }.into_any(),
    }
}

/// An icon and a label.
fn plus_label(word: &'static str) -> impl IntoView {
    (icon("plus"), word)
}
