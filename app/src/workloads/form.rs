//! The fields of a placement: sets of clusters, exclusions, tolerations, how many, how spread, what scores.
//!
//! Which part of a set shows follows from its checked radio in CSS, so it works without script.

use domain::placement::ScoreName;
use leptos::prelude::*;

use super::candidates::Fleet;
use super::field::{self, Input, Wrong, message};
use super::placement_form::{By, PlacementForm, SetForm, SpreadForm};
use crate::components::{icon, words};

mod names;

pub use super::verdicts::Verdicts;

/// Rows for spreads and for scores: those that are there and a spare one, at least so many.
const SPREADS: usize = 1;
const SCORES: usize = 2;

/// The form with a spare row where rows can be added, so that nobody needs script for it; long lists of names as text.
pub fn with_spare_rows(mut form: PlacementForm, fleet: &Fleet) -> PlacementForm {
    form.spread.resize_with((form.spread.len() + 1).max(SPREADS), SpreadForm::default);
    form.score.resize_with((form.score.len() + 1).max(SCORES), Default::default);
    for set in &mut form.sets {
        if names::are_typed(fleet) {
            set.more = set.all_names().join(" ");
            set.names.clear();
        }
    }
    form
}

/// The fields; every one is kept in the signal and sent under `placement[…]`.
#[component]
pub fn PlacementFields(
    /// What is typed.
    form: RwSignal<PlacementForm>,
    /// The fleet to choose from.
    fleet: StoredValue<Fleet>,
) -> impl IntoView {
    let wrong = Memo::new(move |_| form.with(PlacementForm::wrong));
    let sets = Memo::new(move |_| form.with(|form| form.sets.len()));
    let as_text = Memo::new(move |_| form.with(|form| form.as_text == "yes"));
    // Fields begin with what the form says and then follow the person; another form makes other fields.
    let made = RwSignal::new(0);
    view! {
        <div class="fields placement-fields">
            <div class="fields" class:hidden=move || as_text.get()>
                {move || {
                    made.track();
                    (0..sets.get()).map(|at| set(form, fleet, wrong, at)).collect_view()
                }}
                <div>
                    <button class="btn btn-sm btn-quiet" type="button" on:click=move |_| form.update(|form| form.sets.push(SetForm::default()))>
                        {icon("plus")}
                        "Or another set"
                    </button>
                </div>
                {move || {
                    made.track();
                    rest(form, wrong)
                }}
            </div>
            {as_yaml(form, fleet, wrong, made)}
        </div>
    }
    .into_any()
}

/// A field of the placement. It begins with what the form says; another form makes other fields.
fn input(
    form: RwSignal<PlacementForm>,
    wrong: Wrong,
    of: Input,
    part: impl Fn(&mut PlacementForm) -> Option<&mut String> + Send + Sync + Clone + 'static,
) -> AnyView {
    let reading = part.clone();
    let read = move || reading(&mut form.get_untracked()).cloned().unwrap_or_default();
    let write = move |text: String| {
        form.update(|form| {
            if let Some(kept) = part(form) {
                *kept = text;
            }
        });
    };
    field::input(wrong, Input { root: "placement", ..of }, read, write)
}

fn set(form: RwSignal<PlacementForm>, fleet: StoredValue<Fleet>, wrong: Wrong, at: usize) -> AnyView {
    let begin = form.with_untracked(|form| form.sets.get(at).cloned().unwrap_or_default());
    let edit = move |change: Box<dyn FnOnce(&mut SetForm)>| {
        form.update(|form| {
            if let Some(set) = form.sets.get_mut(at) {
                change(set);
            }
        });
    };
    let choice = move |way: By| {
        view! {
            <label>
                <input
                    class=format!("by-{}", way.slug())
                    type="radio"
                    name=format!("placement[sets][{at}][by]")
                    value=way.slug()
                    checked=begin.by == way
                    on:change=move |_| edit(Box::new(move |set| set.by = way))
                />
                {way.word()}
            </label>
        }
    };
    // A mix of ways is rare; it is offered where there is one.
    let ways = By::ALL.into_iter().filter(|way| *way != By::Mixed || begin.by == By::Mixed);
    let remove = move || {
        (at > 0).then(|| {
            view! {
                <button class="btn btn-sm btn-icon" type="button" aria-label=format!("Remove set {}", at + 1)
                    on:click=move |_| form.update(|form| drop(form.sets.remove(at)))
                >
                    {icon("close")}
                </button>
            }
        })
    };
    view! {
        <fieldset class="field group/set">
            <legend class="field-label mb-1">
                {if at == 0 { "Choose clusters by" } else { "Or by" }} " " {remove()}
            </legend>
            <div class="segmented w-fit max-w-full overflow-x-auto whitespace-nowrap">{ways.map(choice).collect_view()}</div>
            <div class="hidden group-has-[.by-names:checked]/set:block group-has-[.by-mixed:checked]/set:block">
                {names::names(form, fleet, at)}
            </div>
            <div class="hidden group-has-[.by-groups:checked]/set:block group-has-[.by-mixed:checked]/set:block">
                {names::groups(form, fleet, at)}
            </div>
            {selectors(form, wrong, at)}
            <p class="field-help hidden group-has-[.by-all:checked]/set:block">"Every cluster, also those that join later."</p>
        </fieldset>
    }
    .into_any()
}

fn selectors(form: RwSignal<PlacementForm>, wrong: Wrong, at: usize) -> AnyView {
    let labels = Input {
        key: format!("sets/{at}/selector"),
        label: "All of these labels",
        placeholder: "env=prod, region in (eu,us)",
        help: "As kubectl -l takes them: =, !=, in (…), notin (…), key, !key.",
        ..Input::default()
    };
    let facts = Input {
        key: format!("sets/{at}/facts"),
        label: "All of these facts",
        placeholder: "provider=aws, kubernetesVersion>=1.33",
        help: "provider, region, zone, kubernetesVersion; the version also with >=, >, <=, <.",
        ..Input::default()
    };
    view! {
        <div class="hidden group-has-[.by-labels:checked]/set:block group-has-[.by-mixed:checked]/set:block">
            {input(form, wrong, labels, move |form| form.sets.get_mut(at).map(|set| &mut set.selector))}
        </div>
        <div class="hidden group-has-[.by-facts:checked]/set:block group-has-[.by-mixed:checked]/set:block">
            {input(form, wrong, facts, move |form| form.sets.get_mut(at).map(|set| &mut set.facts))}
        </div>
    }
    .into_any()
}

fn rest(form: RwSignal<PlacementForm>, wrong: Wrong) -> AnyView {
    let spreads = form.with_untracked(|form| form.spread.len());
    let scores = form.with_untracked(|form| form.score.len());
    view! {
        {input(
            form,
            wrong,
            Input { key: "exclude".into(), label: "Never on", placeholder: "edge-1, edge-2", help: "Names of clusters, whatever else matches.", ..Input::default() },
            |form| Some(&mut form.exclude),
        )}
        {input(
            form,
            wrong,
            Input {
                key: "tolerations".into(),
                label: "Tolerate taints",
                placeholder: "spot=true:NoSelect",
                help: "key=value:Effect, key:Effect or key alone; * for every key.",
                ..Input::default()
            },
            |form| Some(&mut form.tolerations),
        )}
        <div class="field-row">
            {input(
                form,
                wrong,
                Input { key: "number".into(), label: "How many", placeholder: "all that match", help: "The best so many of those that match.", numeric: true, ..Input::default() },
                |form| Some(&mut form.number),
            )}
            {input(
                form,
                wrong,
                Input { key: "minimum".into(), label: "At least", placeholder: "any number", help: "With fewer, nothing is published.", numeric: true, ..Input::default() },
                |form| Some(&mut form.minimum),
            )}
        </div>
        <fieldset class="field">
            <legend class="field-label mb-1">"Spread over"</legend>
            {(0..spreads).map(|at| spread(form, wrong, at)).collect_view()}
            <p class="field-help">"Of each value at most so many more than of the value with fewest; at least so many values."</p>
        </fieldset>
        <fieldset class="field">
            <legend class="field-label mb-1">"Prefer"</legend>
            {(0..scores).map(|at| score(form, wrong, at)).collect_view()}
            <p class="field-help">"Ranks those that match by weight, -10 to 10; matters where not all are taken."</p>
        </fieldset>
        <div class="stack-sm">
            {tick(form, "members", "auto", "Clusters that match later get it without a publish", |form| &mut form.members)}
            {tick(form, "moving", "moving", "Choose anew at every change, even if clusters lose it", |form| &mut form.moving)}
        </div>
        <datalist id="spread-keys">
            <option value="region"></option>
            <option value="zone"></option>
            <option value="provider"></option>
        </datalist>
    }
    .into_any()
}

fn spread(form: RwSignal<PlacementForm>, wrong: Wrong, at: usize) -> AnyView {
    let row = form.with_untracked(|form| form.spread.get(at).cloned().unwrap_or_default());
    let anyway = row.when == "anyway";
    let hidden = |label: &'static str, placeholder: &'static str, part: &str, numeric: bool| Input {
        key: format!("spread/{at}/{part}"),
        label,
        placeholder,
        hidden: true,
        numeric,
        list: if part == "key" { "spread-keys" } else { "" },
        ..Input::default()
    };
    view! {
        <div class="grid grid-cols-[minmax(0,1fr)_4rem_4rem_6.5rem] gap-2">
            {input(form, wrong, hidden("Spread over", "region", "key", false), move |form| form.spread.get_mut(at).map(|row| &mut row.key))}
            {input(form, wrong, hidden("Skew", "skew", "skew", true), move |form| form.spread.get_mut(at).map(|row| &mut row.skew))}
            {input(form, wrong, hidden("Values at least", "least", "groups", true), move |form| form.spread.get_mut(at).map(|row| &mut row.groups))}
            <select
                class="select"
                aria-label="Where it can't be even"
                name=format!("placement[spread][{at}][when]")
                on:change=move |ev| {
                    let when = event_target_value(&ev);
                    form.update(|form| if let Some(row) = form.spread.get_mut(at) { row.when = when });
                }
            >
                <option value="" selected=!anyway>"refuse"</option>
                <option value="anyway" selected=anyway>"prefer"</option>
            </select>
        </div>
    }
    .into_any()
}

/// A score as people read it.
const fn score_word(score: ScoreName) -> &'static str {
    match score {
        ScoreName::Steady => "has it already",
        ScoreName::AllocatableCpu => "most CPU",
        ScoreName::AllocatableMemory => "most memory",
        ScoreName::Label => "these labels",
    }
}

fn score(form: RwSignal<PlacementForm>, wrong: Wrong, at: usize) -> AnyView {
    let chosen = form.with_untracked(|form| form.score.get(at).map(|row| row.name).unwrap_or_default());
    let option = move |score: ScoreName| {
        view! {
            <option value=score.name() selected=score == chosen>
                {score_word(score)}
            </option>
        }
    };
    let part = |label: &'static str, placeholder: &'static str, part: &str| Input {
        key: format!("score/{at}/{part}"),
        label,
        placeholder,
        hidden: true,
        ..Input::default()
    };
    view! {
        <div class="grid grid-cols-[8.5rem_4rem_minmax(0,1fr)] gap-2">
            <select
                class="select"
                aria-label="What is scored"
                name=format!("placement[score][{at}][name]")
                on:change=move |ev| {
                    let name = event_target_value(&ev);
                    let name = ScoreName::ALL.into_iter().find(|score| score.name() == name).unwrap_or_default();
                    form.update(|form| if let Some(row) = form.score.get_mut(at) { row.name = name });
                }
            >
                {ScoreName::ALL.map(option).collect_view()}
            </select>
            {input(form, wrong, part("Weight", "weight", "weight"), move |form| form.score.get_mut(at).map(|row| &mut row.weight))}
            {input(form, wrong, part("Labels that score", "tier=edge", "selector"), move |form| form.score.get_mut(at).map(|row| &mut row.selector))}
        </div>
    }
    .into_any()
}

fn tick(
    form: RwSignal<PlacementForm>,
    name: &'static str,
    value: &'static str,
    label: &'static str,
    part: fn(&mut PlacementForm) -> &mut String,
) -> AnyView {
    let on = part(&mut form.get_untracked()) == value;
    view! {
        <label class="choice">
            <input
                class="checkbox"
                type="checkbox"
                name=format!("placement[{name}]")
                value=value
                checked=on
                on:change=move |ev| {
                    let said = if event_target_checked(&ev) { value.to_owned() } else { String::new() };
                    form.update(|form| *part(form) = said);
                }
            />
            {label}
        </label>
    }
    .into_any()
}

/// The same placement as text. Ticked, the text counts; it begins with what the fields say.
fn as_yaml(
    form: RwSignal<PlacementForm>,
    fleet: StoredValue<Fleet>,
    wrong: Wrong,
    made: RwSignal<u32>,
) -> AnyView {
    let (on, begin) = form.with_untracked(|form| (form.as_text == "yes", form.text.clone()));
    let text = RwSignal::new(begin);
    let switch = move |ev| {
        let on = event_target_checked(&ev);
        form.update(|form| {
            // What was typed on this side is what the other side begins with.
            match (on, form.placement()) {
                (true, Ok(placement)) => form.text = super::placement_form::in_yaml(&placement),
                (false, Ok(placement)) => {
                    let fields = PlacementForm::of(&placement);
                    if fields.as_text.is_empty() {
                        *form = fleet.with_value(|fleet| with_spare_rows(fields, fleet));
                    }
                }
                _ => {}
            }
            form.as_text = if on { "yes".to_owned() } else { String::new() };
        });
        text.set(form.with_untracked(|form| form.text.clone()));
        if !on {
            made.update(|n| *n += 1);
        }
    };
    view! {
        <details class="fold" open=on>
            <summary>"As YAML"</summary>
            <div class="field pt-3">
            <label class="choice">
                <input class="checkbox" type="checkbox" name="placement[as_text]" value="yes" checked=on on:change=switch />
                "This text counts, not the fields"
            </label>
            <textarea
                class="textarea input-mono min-h-60"
                name="placement[text]"
                aria-label="Placement as YAML"
                spellcheck="false"
                autocapitalize="off"
                autocomplete="off"
                prop:value=move || text.get()
                on:input=move |ev| form.update(|form| form.text = event_target_value(&ev))
            >
                {text.get_untracked()}
            </textarea>
            <p class="field-help">{message(wrong, "/placement/text".to_owned(), "What the API and the command line call placement.")}</p>
            </div>
        </details>
    }
    .into_any()
}
