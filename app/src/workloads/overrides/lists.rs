//! The lists beside the form: selected clusters with the number of overridden fields, and overrides.

use domain::cluster::Cluster;
use domain::overrides::Override;
use domain::values::{ValueProvenance, ValuesLayer};
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_query_map};

use super::actions::OverrideRemove;
use super::state::{EditorState, merge_for_cluster, trace_chart_values};
use crate::components::{icon, join_names, pluralize};
use crate::paths;

/// Most clusters that are listed.
const ROWS: usize = 40;

/// The selected clusters, each with the number of its overridden fields and a link that shows its values.
pub(super) fn cluster_list(state: EditorState) -> AnyView {
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
    let row = move |(name, differ): (String, usize)| {
        let href = query_link("cluster", name.clone());
        let at = {
            let name = name.clone();
            move || {
                let is_at = state.cluster.with(|at| at.as_ref().is_some_and(|at| at.name == name));
                is_at.then_some("true")
            }
        };
        view! {
            <li>
                <a class="override-cluster" href=href aria-current=at>
                    <span class="name">{name}</span>
                    <span class="meta">{count_label(differ)}</span>
                </a>
            </li>
        }
    };
    let heading = pluralize(u32::try_from(all).unwrap_or(u32::MAX), "cluster");
    view! {
        <nav class="stack-sm" aria-label="Clusters that get it">
            <h2 class="section">
                {heading} " "
                <span class="meta font-normal">"fields that differ"</span>
            </h2>
            {find}
            {(all == 0).then(|| view! { <p class="text-3">"The placement selects no cluster yet."</p> })}
            <ul>{move || rows.get().into_iter().map(row).collect_view()}</ul>
            {(all > ROWS).then(|| view! { <p class="meta">{format!("{ROWS} at a time; find others by name")}</p> })}
        </nav>
    }
    .into_any()
}

/// The overrides of the draft, lowest priority first, with links to edit and buttons to remove them.
pub(super) fn override_list(state: EditorState, remove: ServerAction<OverrideRemove>) -> AnyView {
    let (workload, mut all) =
        state.workload.with_value(|workload| (workload.name.clone(), workload.draft.overrides.clone()));
    all.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
    let workload = StoredValue::new(workload);
    let row = |over: Override| {
        let name = over.name.clone();
        let is_at = state.edited_name.with_value(|edited| *edited == name);
        let patches = pluralize(u32::try_from(over.patches.len()).unwrap_or(u32::MAX), "change");
        let changes = match (over.values.trim().is_empty(), over.patches.is_empty()) {
            (true, _) => patches,
            (false, true) => "chart values".to_owned(),
            (false, false) => format!("chart values, {patches}"),
        };
        view! {
            <tr aria-current=is_at.then_some("true")>
                <th scope="row" class="cell-name name">
                    <a href=query_link("override", name.clone())>{name.clone()}</a>
                </th>
                <td data-label="For">{describe_target(&over)}</td>
                <td data-label="Priority">{over.priority}</td>
                <td data-label="Changes">{changes}</td>
                <td class="cell-actions">
                    <ActionForm action=remove>
                        <input type="hidden" name="name" value=workload.get_value() />
                        <input type="hidden" name="base_revision" value=move || state.base_revision.get().to_string() />
                        <input type="hidden" name="override_name" value=name.clone() />
                        <button class="btn btn-sm btn-icon" type="submit" aria-label=format!("Remove override {name}")>
                            {icon("close")}
                        </button>
                    </ActionForm>
                </td>
            </tr>
        }
    };
    let is_new = state.edited_name.with_value(String::is_empty);
    let table = (!all.is_empty()).then(|| {
        view! {
            <table class="table">
                <caption class="sr-only">"Overrides of the draft"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Override"</th>
                        <th scope="col">"For"</th>
                        <th scope="col">"Priority"</th>
                        <th scope="col">"Changes"</th>
                        <th scope="col">
                            <span class="sr-only">"Remove"</span>
                        </th>
                    </tr>
                </thead>
                <tbody>{all.into_iter().map(row).collect_view()}</tbody>
            </table>
            <p class="meta">"Later wins: group, labels, cluster by name; then priority, then name."</p>
        }
    });
    let new = (!is_new).then(|| {
        view! {
            <div>
                <a class="btn btn-sm" href=query_link("override", String::new())>
                    {plus_label("New override")}
                </a>
            </div>
        }
    });
    view! {
        <div class="stack-sm">
            {table}
            {new}
        </div>
    }
    .into_any()
}

/// Summarises the target of an override.
fn describe_target(over: &Override) -> String {
    let target = &over.target;
    let mut parts = Vec::new();
    if !target.clusters.is_empty() {
        parts.push(join_names(&target.clusters, target.clusters.len(), 3));
    }
    if !target.groups.is_empty() {
        parts.push(format!("group {}", join_names(&target.groups, target.groups.len(), 3)));
    }
    match &target.selector {
        Some(selector) if selector.is_empty() => parts.push("every cluster".to_owned()),
        Some(selector) => parts.push(selector.to_string()),
        None => {}
    }
    if parts.is_empty() { "no cluster".to_owned() } else { parts.join("; ") }
}

/// The URL of this page with the query parameter `key` (`override` or `cluster`) changed; the other one stays.
fn query_link(key: &'static str, value: String) -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let (path, query) = (use_location().pathname, use_query_map());
    move || {
        let get = |name: &str| query.read().get(name).unwrap_or_default();
        let (over, cluster) = match key {
            "override" => (value.clone(), get("cluster")),
            _ => (get("override"), value.clone()),
        };
        let pairs = [("tab", get("tab")), ("override", over), ("cluster", cluster)];
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
        paths::query(&path.get(), &pairs)
    }
}

/// The number of fields and values that overrides set on a cluster.
fn count_differences(state: EditorState, typed: &[Override], cluster: &Cluster) -> usize {
    let fields = merge_for_cluster(typed, cluster, state.objects, state.fleet).provenance.len();
    let traced =
        state.workload.with_value(|workload| trace_chart_values(workload, typed, cluster, state.fleet));
    let is_overridden = |leaf: &&ValueProvenance| {
        leaf.settings.first().is_some_and(|one| matches!(one.layer, ValuesLayer::Override { .. }))
    };
    fields + traced.unwrap_or_default().iter().filter(is_overridden).count()
}

fn count_label(n: usize) -> String {
    match u32::try_from(n).unwrap_or(u32::MAX) {
        0 => "same".to_owned(),
        n => pluralize(n, "field"),
    }
}

/// An icon and a label.
fn plus_label(word: &'static str) -> impl IntoView {
    (icon("plus"), word)
}
