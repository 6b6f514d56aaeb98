//! Clusters and groups by name: checkboxes for a small fleet, a text field with suggestions for a large one.

use leptos::prelude::*;

use crate::components::{icon, split_words};
use crate::paths;
use crate::workloads::placement::candidates::Fleet;
use crate::workloads::placement::form::PlacementForm;

/// Largest fleet that is shown as checkboxes.
const CHECKBOXES_MAX: usize = 60;
/// Suggestions shown at a time.
const SUGGESTIONS_MAX: usize = 12;

/// Whether the fleet is too large for checkboxes.
pub(super) fn uses_text_field(fleet: &Fleet) -> bool {
    fleet.clusters.len() > CHECKBOXES_MAX
}

pub(super) fn cluster_names_field(
    form: RwSignal<PlacementForm>,
    fleet: StoredValue<Fleet>,
    at: usize,
) -> AnyView {
    if fleet.with_value(uses_text_field) {
        return names_text_field(form, fleet, at);
    }
    let known: Vec<String> =
        fleet.with_value(|fleet| fleet.clusters.iter().map(|cluster| cluster.name.clone()).collect());
    let ticked =
        form.with_untracked(|form| form.predicates.get(at).map(|set| set.names.clone())).unwrap_or_default();
    let toggle = move |name: &str, on: bool| {
        form.update(|form| {
            if let Some(set) = form.predicates.get_mut(at) {
                set_member(&mut set.names, name, on)
            }
        });
    };
    checkbox_list(
        CheckboxList {
            legend: "Clusters",
            name: format!("placement[predicates][{at}][names][]"),
            known,
            ticked,
        },
        toggle,
    )
}

pub(super) fn groups_field(form: RwSignal<PlacementForm>, fleet: StoredValue<Fleet>, at: usize) -> AnyView {
    let known: Vec<String> =
        fleet.with_value(|fleet| fleet.groups.iter().map(|group| group.name.clone()).collect());
    let ticked =
        form.with_untracked(|form| form.predicates.get(at).map(|set| set.groups.clone())).unwrap_or_default();
    if known.is_empty() && ticked.is_empty() {
        return view! {
            <div class="field">
                <p class="field-help">
                    "There are no cluster groups yet. "
                    <a class="link" href=paths::GROUP_NEW>
                        "Create a group"
                    </a>
                </p>
            </div>
        }
        .into_any();
    }
    let toggle = move |name: &str, on: bool| {
        form.update(|form| {
            if let Some(set) = form.predicates.get_mut(at) {
                set_member(&mut set.groups, name, on)
            }
        });
    };
    checkbox_list(
        CheckboxList {
            legend: "Groups",
            name: format!("placement[predicates][{at}][groups][]"),
            known,
            ticked,
        },
        toggle,
    )
}

fn set_member(names: &mut Vec<String>, name: &str, on: bool) {
    names.retain(|one| one != name);
    if on {
        names.push(name.to_owned());
    }
}

struct CheckboxList {
    legend: &'static str,
    name: String,
    known: Vec<String>,
    ticked: Vec<String>,
}

/// A checkbox per name. Ticked names that do not exist get one too: a save would remove them otherwise.
fn checkbox_list(of: CheckboxList, toggle: impl Fn(&str, bool) + Copy + 'static) -> AnyView {
    let unknown: Vec<String> = of.ticked.iter().filter(|name| !of.known.contains(name)).cloned().collect();
    let row = |name: String, note: &'static str| {
        let (value, checked) = (name.clone(), of.ticked.contains(&name));
        view! {
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name=of.name.clone()
                    value=value.clone()
                    checked=checked
                    on:change=move |ev| toggle(&value, event_target_checked(&ev))
                />
                <span class="name">{name}</span>
                <span class="text-3">{note}</span>
            </label>
        }
    };
    let known = of.known.iter().cloned().map(|name| row(name, "")).collect_view();
    let unknown = unknown.into_iter().map(|name| row(name, "does not exist")).collect_view();
    view! {
        <fieldset class="field">
            <legend class="field-label mb-1">{of.legend}</legend>
            <div class="grid max-h-96 gap-1 overflow-y-auto">{known} {unknown}</div>
        </fieldset>
    }
    .into_any()
}

fn names_text_field(form: RwSignal<PlacementForm>, fleet: StoredValue<Fleet>, at: usize) -> AnyView {
    let begin = form
        .with_untracked(|form| form.predicates.get(at).map(|set| set.typed_names.clone()))
        .unwrap_or_default();
    let text = move || {
        form.with(|form| form.predicates.get(at).map(|set| set.typed_names.clone())).unwrap_or_default()
    };
    let search = RwSignal::new(String::new());
    let proposals = Memo::new(move |_| {
        let search = search.get().trim().to_lowercase();
        if search.is_empty() {
            return Vec::new();
        }
        let have = text();
        let have: std::collections::BTreeSet<&str> = split_words(&have).collect();
        let fits = |name: &&str| name.contains(&search) && !have.contains(*name);
        fleet.with_value(|fleet| {
            let names = fleet.clusters.iter().map(|cluster| cluster.name.as_str());
            names.filter(fits).take(SUGGESTIONS_MAX).map(str::to_owned).collect::<Vec<_>>()
        })
    });
    let set_text = move |text: String| {
        form.update(|form| {
            if let Some(set) = form.predicates.get_mut(at) {
                set.typed_names = text
            }
        });
    };
    let add = move |name: &str| set_text(format!("{} {name}", text().trim()).trim().to_owned());
    let proposal = move |name: String| {
        let added = name.clone();
        view! {
            <button class="chip" type="button" on:click=move |_| add(&added)>
                {icon("plus")}
                {name}
            </button>
        }
    };
    let id = format!("placement-predicates-{at}-typed");
    view! {
        <div class="field">
            <label class="field-label" for=id.clone()>
                "Clusters"
            </label>
            <textarea
                class="textarea input-mono min-h-24"
                id=id
                name=format!("placement[predicates][{at}][typed_names]")
                spellcheck="false"
                autocapitalize="off"
                autocomplete="off"
                prop:value=text
                on:input=move |ev| set_text(event_target_value(&ev))
            >
                {begin}
            </textarea>
            <p class="field-help">"Names, separated by spaces or commas."</p>
            <input
                class="input input-mono"
                type="search"
                aria-label="Find a cluster to add"
                placeholder="Find a cluster to add"
                autocomplete="off"
                on:input=move |ev| search.set(event_target_value(&ev))
            />
            <div class="flex flex-wrap gap-1" aria-live="polite">
                {move || proposals.get().into_iter().map(proposal).collect_view()}
            </div>
        </div>
    }
    .into_any()
}
