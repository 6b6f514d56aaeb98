//! The list of groups beside the form: a group with an override of its own opens it, any other is the target of a new one.

use std::collections::BTreeSet;

use domain::cluster::Cluster;
use domain::placement::ClusterGroup;
use leptos::ev::MouseEvent;
use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::state::{EditorState, find_group_override};
use crate::address::use_tab_query;
use crate::components::pluralize;
use crate::paths;

/// Most groups that are listed.
const ROWS: usize = 40;

/// A group in the list.
#[derive(Clone, PartialEq, Eq)]
struct GroupRow {
    name: String,
    /// The override that the link opens; empty for a new one.
    own: String,
    /// How many of the target clusters are members.
    clusters: usize,
}

/// The groups with the number of target clusters in each; nothing while there are no groups.
pub(super) fn group_list(state: EditorState, follow: Callback<(MouseEvent, String)>) -> Option<AnyView> {
    let all = state.fleet.with_value(|fleet| fleet.groups.len());
    if all == 0 {
        return None;
    }
    let search = RwSignal::new(String::new());
    let find = (all > ROWS).then(|| {
        view! {
            <input
                class="input input-mono"
                type="search"
                aria-label="Find a group"
                placeholder="Find a group"
                autocomplete="off"
                on:input=move |ev| search.set(event_target_value(&ev))
            />
        }
    });
    let rows = Memo::new(move |_| list_rows(state, search.get().trim()));
    let row = move |row: GroupRow| show_row(state, row, follow);
    let heading = pluralize(u32::try_from(all).unwrap_or(u32::MAX), "group");
    let list = view! {
        <nav class="stack-sm" aria-label="Target groups">
            <div class="flex items-baseline justify-between gap-2">
                <h2 class="section">{heading}</h2>
                <span class="meta" aria-hidden="true">
                    "target clusters"
                </span>
            </div>
            {find}
            <ul class="override-clusters">{move || rows.get().into_iter().map(row).collect_view()}</ul>
            {(all > ROWS).then(|| view! { <p class="meta">{format!("{ROWS} at a time; find others by name")}</p> })}
        </nav>
    };
    Some(list.into_any())
}

fn list_rows(state: EditorState, search: &str) -> Vec<GroupRow> {
    state.fleet.with_value(|fleet| {
        let targets: BTreeSet<String> = state.selected.with_value(|names| names.iter().cloned().collect());
        // Not `ClusterGroup::contains`, which searches the list of members for each cluster.
        let count = |group: &ClusterGroup| {
            let members: BTreeSet<&str> = group.members.iter().map(String::as_str).collect();
            let is_member = |one: &Cluster| {
                members.contains(&*one.name)
                    || group.selector.as_ref().is_some_and(|selector| selector.matches(&one.labels))
            };
            fleet.clusters.iter().filter(|one| targets.contains(&one.name) && is_member(one)).count()
        };
        let shown = fleet.groups.iter().filter(|group| group.name.contains(search)).take(ROWS);
        let row = |group: &ClusterGroup| GroupRow {
            name: group.name.clone(),
            own: state.workload.with_value(|workload| {
                let own = find_group_override(&workload.draft.overrides, &group.name);
                own.map(|own| own.name.clone()).unwrap_or_default()
            }),
            clusters: count(group),
        };
        shown.map(row).collect()
    })
}

fn show_row(state: EditorState, row: GroupRow, follow: Callback<(MouseEvent, String)>) -> AnyView {
    let GroupRow { name, own, clusters } = row;
    let is_current = match &*own {
        "" => state.target_group.with_value(|target| *target == name),
        own => state.edited_name.with_value(|edited| edited == own),
    };
    let href = group_link(own, name.clone());
    let there = href.clone();
    let noun = if clusters == 1 { " target cluster" } else { " target clusters" };
    view! {
        <li>
            <a
                class="override-cluster"
                href=href
                aria-current=is_current.then_some("true")
                on:click=move |event| follow.run((event, there()))
            >
                <span class="name">{name}</span>
                <span class="meta">{clusters} <span class="sr-only">{noun}</span></span>
            </a>
        </li>
    }
    .into_any()
}

/// The URL of this page with an override, or with a new one for the group.
fn group_link(own: String, group: String) -> impl Fn() -> String + Send + Sync + Clone + 'static {
    let (path, query) = (use_location().pathname, use_tab_query());
    let key = if own.is_empty() { ("group", group) } else { ("override", own) };
    move || {
        let tab = query.read().get("tab").unwrap_or_default();
        paths::query(&path.get(), &[("tab", tab.as_str()), (key.0, &key.1)])
    }
}
