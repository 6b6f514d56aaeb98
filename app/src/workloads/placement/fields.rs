//! The fields of a placement: predicates, exclusions, tolerations, number of clusters, spread and scores.
//!
//! CSS shows the part of a predicate that its checked radio button selects, so the form works without JavaScript.

use domain::placement::ScoreName;
use leptos::prelude::*;

use super::candidates::Fleet;
use super::form::{PlacementForm, PredicateForm, SelectBy, SpreadForm};
use crate::components::icon;
use crate::workloads::text_field::{self, FieldFindings, TextFieldProps, finding_or_help};

mod names;

/// Minimum number of rows for spreads and for scores; there is always one blank row.
const MIN_SPREAD_ROWS: usize = 1;
const MIN_SCORE_ROWS: usize = 2;

/// Adds a blank row to each list, so that rows can be added without JavaScript. In a large fleet the names are moved into the
/// text field.
pub fn with_spare_rows(mut form: PlacementForm, fleet: &Fleet) -> PlacementForm {
    form.spread.resize_with((form.spread.len() + 1).max(MIN_SPREAD_ROWS), SpreadForm::default);
    form.score.resize_with((form.score.len() + 1).max(MIN_SCORE_ROWS), Default::default);
    for set in &mut form.predicates {
        if names::uses_text_field(fleet) {
            set.typed_names = set.all_names().join(" ");
            set.names.clear();
        }
    }
    form
}

/// The fields. Each is stored in the signal and sent under `placement[…]`.
#[component]
pub fn PlacementFields(
    /// The form.
    form: RwSignal<PlacementForm>,
    /// The fleet to select from.
    fleet: StoredValue<Fleet>,
) -> impl IntoView {
    let wrong = Memo::new(move |_| form.with(PlacementForm::findings_by_field));
    let sets = Memo::new(move |_| form.with(|form| form.predicates.len()));
    let as_text = Memo::new(move |_| form.with(|form| form.as_text == "yes"));
    // Fields are initialised from the form and not updated from it: a replaced form creates new fields.
    let field_generation = RwSignal::new(0);
    view! {
        <div class="fields placement-fields">
            <div class="fields" class:hidden=move || as_text.get()>
                {move || {
                    field_generation.track();
                    (0..sets.get()).map(|at| predicate_fields(form, fleet, wrong, at)).collect_view()
                }}
                <div>
                    <button class="btn btn-sm btn-quiet" type="button" on:click=move |_| form.update(|form| form.predicates.push(PredicateForm::default()))>
                        {icon("plus")}
                        "Add alternative"
                    </button>
                </div>
                {move || {
                    field_generation.track();
                    constraint_fields(form, wrong)
                }}
            </div>
            {yaml_editor(form, fleet, wrong, field_generation)}
        </div>
    }
    .into_any()
}

/// A field of the placement, initialised from the form and not updated from it.
fn placement_field(
    form: RwSignal<PlacementForm>,
    wrong: FieldFindings,
    of: TextFieldProps,
    part: impl Fn(&mut PlacementForm) -> Option<&mut String> + Send + Sync + Clone + 'static,
) -> AnyView {
    let reading = part.clone();
    let read = move || reading(&mut form.get_untracked()).cloned().unwrap_or_default();
    let write = move |text: String| {
        form.update(|form| {
            if let Some(value) = part(form) {
                *value = text;
            }
        });
    };
    text_field::text_field(wrong, TextFieldProps { form: "placement", ..of }, read, write)
}

fn predicate_fields(
    form: RwSignal<PlacementForm>,
    fleet: StoredValue<Fleet>,
    wrong: FieldFindings,
    at: usize,
) -> AnyView {
    let begin = form.with_untracked(|form| form.predicates.get(at).cloned().unwrap_or_default());
    let edit = move |change: Box<dyn FnOnce(&mut PredicateForm)>| {
        form.update(|form| {
            if let Some(set) = form.predicates.get_mut(at) {
                change(set);
            }
        });
    };
    let choice = move |way: SelectBy| {
        view! {
            <label>
                <input
                    class=format!("by-{}", way.slug())
                    type="radio"
                    name=format!("placement[predicates][{at}][by]")
                    value=way.slug()
                    checked=begin.by == way
                    on:change=move |_| edit(Box::new(move |set| set.by = way))
                />
                {way.label()}
            </label>
        }
    };
    // A predicate with several selectors is rare: the choice is shown only where there is one.
    let ways = SelectBy::ALL.into_iter().filter(|way| *way != SelectBy::Mixed || begin.by == SelectBy::Mixed);
    let remove = move || {
        (at > 0).then(|| {
            view! {
                <button class="btn btn-sm btn-icon" type="button" aria-label=format!("Remove alternative {}", at + 1)
                    on:click=move |_| form.update(|form| drop(form.predicates.remove(at)))
                >
                    {icon("close")}
                </button>
            }
        })
    };
    view! {
        <fieldset class="field group/set">
            <legend class="field-label mb-1">
                {if at == 0 { "Select clusters by" } else { "Or by" }} " " {remove()}
            </legend>
            <div class="segmented w-fit max-w-full overflow-x-auto whitespace-nowrap">{ways.map(choice).collect_view()}</div>
            <div class="hidden group-has-[.by-names:checked]/set:block group-has-[.by-mixed:checked]/set:block">
                {names::cluster_names_field(form, fleet, at)}
            </div>
            <div class="hidden group-has-[.by-groups:checked]/set:block group-has-[.by-mixed:checked]/set:block">
                {names::groups_field(form, fleet, at)}
            </div>
            {selector_fields(form, wrong, at)}
            <p class="field-help hidden group-has-[.by-all:checked]/set:block">"Every cluster, including those that join later."</p>
        </fieldset>
    }
    .into_any()
}

fn selector_fields(form: RwSignal<PlacementForm>, wrong: FieldFindings, at: usize) -> AnyView {
    let labels = TextFieldProps {
        path: format!("predicates/{at}/selector"),
        label: "All of these labels",
        placeholder: "env=prod, region in (eu,us)",
        help: "Syntax of kubectl -l: =, !=, in (…), notin (…), key, !key.",
        ..TextFieldProps::default()
    };
    let facts = TextFieldProps {
        path: format!("predicates/{at}/facts"),
        label: "All of these facts",
        placeholder: "provider=aws, kubernetesVersion>=1.33",
        help: "provider, region, zone, kubernetesVersion; the version also with >=, >, <=, <.",
        ..TextFieldProps::default()
    };
    view! {
        <div class="hidden group-has-[.by-labels:checked]/set:block group-has-[.by-mixed:checked]/set:block">
            {placement_field(form, wrong, labels, move |form| form.predicates.get_mut(at).map(|set| &mut set.selector))}
        </div>
        <div class="hidden group-has-[.by-facts:checked]/set:block group-has-[.by-mixed:checked]/set:block">
            {placement_field(form, wrong, facts, move |form| form.predicates.get_mut(at).map(|set| &mut set.facts))}
        </div>
    }
    .into_any()
}

fn constraint_fields(form: RwSignal<PlacementForm>, wrong: FieldFindings) -> AnyView {
    let spreads = form.with_untracked(|form| form.spread.len());
    let scores = form.with_untracked(|form| form.score.len());
    view! {
        {placement_field(
            form,
            wrong,
            TextFieldProps { path: "exclude".into(), label: "Excluded clusters", placeholder: "edge-1, edge-2", help: "Names of clusters that are never selected.", ..TextFieldProps::default() },
            |form| Some(&mut form.exclude),
        )}
        {placement_field(
            form,
            wrong,
            TextFieldProps {
                path: "tolerations".into(),
                label: "Tolerate taints",
                placeholder: "spot=true:NoSelect",
                help: "key=value:Effect, key:Effect or key alone; * for every key.",
                ..TextFieldProps::default()
            },
            |form| Some(&mut form.tolerations),
        )}
        <div class="field-row">
            {placement_field(
                form,
                wrong,
                TextFieldProps { path: "number".into(), label: "Number of clusters", placeholder: "all that match", help: "Best N of the matching clusters.", numeric: true, ..TextFieldProps::default() },
                |form| Some(&mut form.number),
            )}
            {placement_field(
                form,
                wrong,
                TextFieldProps { path: "minimum".into(), label: "Minimum", placeholder: "any number", help: "With fewer clusters, a publish is rejected.", numeric: true, ..TextFieldProps::default() },
                |form| Some(&mut form.minimum),
            )}
            {placement_field(
                form,
                wrong,
                TextFieldProps { path: "available".into(), label: "Min available", placeholder: "80%", help: "With fewer running it, no other cluster loses it.", numeric: true, ..TextFieldProps::default() },
                |form| Some(&mut form.available),
            )}
        </div>
        <fieldset class="field">
            <legend class="field-label mb-1">"Spread over"</legend>
            {(0..spreads).map(|at| spread_row(form, wrong, at)).collect_view()}
            <p class="field-help">"At most N more per value than the value with fewest; at least this many values."</p>
        </fieldset>
        <fieldset class="field">
            <legend class="field-label mb-1">"Prefer"</legend>
            {(0..scores).map(|at| score_row(form, wrong, at)).collect_view()}
            <p class="field-help">"Ranks the matching clusters; weights from -10 to 10. Has an effect only if the number of clusters is limited."</p>
        </fieldset>
        <div class="stack-sm">
            {checkbox(form, "new_members", "auto", "Clusters that match later get it without a publish", |form| &mut form.new_members)}
            {checkbox(form, "reselect", "reselect", "Reselect at every change, even if clusters lose the workload", |form| &mut form.reselect)}
        </div>
        <datalist id="spread-keys">
            <option value="region"></option>
            <option value="zone"></option>
            <option value="provider"></option>
        </datalist>
    }
    .into_any()
}

fn spread_row(form: RwSignal<PlacementForm>, wrong: FieldFindings, at: usize) -> AnyView {
    let row = form.with_untracked(|form| form.spread.get(at).cloned().unwrap_or_default());
    let anyway = row.when == "anyway";
    let hidden = |label: &'static str, placeholder: &'static str, part: &str, numeric: bool| TextFieldProps {
        path: format!("spread/{at}/{part}"),
        label,
        placeholder,
        label_hidden: true,
        numeric,
        list: if part == "key" { "spread-keys" } else { "" },
        ..TextFieldProps::default()
    };
    view! {
        <div class="grid grid-cols-[minmax(0,1fr)_4rem_4rem_6.5rem] gap-2">
            {placement_field(form, wrong, hidden("Spread over", "region", "key", false), move |form| form.spread.get_mut(at).map(|row| &mut row.key))}
            {placement_field(form, wrong, hidden("Skew", "skew", "skew", true), move |form| form.spread.get_mut(at).map(|row| &mut row.skew))}
            {placement_field(form, wrong, hidden("Minimum number of values", "min", "groups", true), move |form| form.spread.get_mut(at).map(|row| &mut row.groups))}
            <select
                class="select"
                aria-label="When unsatisfiable"
                name=format!("placement[spread][{at}][when]")
                on:change=move |ev| {
                    let when = event_target_value(&ev);
                    form.update(|form| if let Some(row) = form.spread.get_mut(at) { row.when = when });
                }
            >
                <option value="" selected=!anyway>"required"</option>
                <option value="anyway" selected=anyway>"preferred"</option>
            </select>
        </div>
    }
    .into_any()
}

/// The label of a score.
const fn score_label(score: ScoreName) -> &'static str {
    match score {
        ScoreName::Steady => "already deployed",
        ScoreName::AllocatableCpu => "most CPU",
        ScoreName::AllocatableMemory => "most memory",
        ScoreName::Label => "matching labels",
    }
}

fn score_row(form: RwSignal<PlacementForm>, wrong: FieldFindings, at: usize) -> AnyView {
    let selected = form.with_untracked(|form| form.score.get(at).map(|row| row.name).unwrap_or_default());
    let option = move |score: ScoreName| {
        view! {
            <option value=score.as_str() selected=score == selected>
                {score_label(score)}
            </option>
        }
    };
    let part = |label: &'static str, placeholder: &'static str, part: &str| TextFieldProps {
        path: format!("score/{at}/{part}"),
        label,
        placeholder,
        label_hidden: true,
        ..TextFieldProps::default()
    };
    view! {
        <div class="grid grid-cols-[8.5rem_4rem_minmax(0,1fr)] gap-2">
            <select
                class="select"
                aria-label="Score"
                name=format!("placement[score][{at}][name]")
                on:change=move |ev| {
                    let name = event_target_value(&ev);
                    let name = ScoreName::ALL.iter().copied().find(|score| score.as_str() == name).unwrap_or_default();
                    form.update(|form| if let Some(row) = form.score.get_mut(at) { row.name = name });
                }
            >
                {ScoreName::ALL.iter().copied().map(option).collect_view()}
            </select>
            {placement_field(form, wrong, part("Weight", "weight", "weight"), move |form| form.score.get_mut(at).map(|row| &mut row.weight))}
            {placement_field(form, wrong, part("Scored labels", "tier=edge", "selector"), move |form| form.score.get_mut(at).map(|row| &mut row.selector))}
        </div>
    }
    .into_any()
}

fn checkbox(
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
                    let text = if event_target_checked(&ev) { value.to_owned() } else { String::new() };
                    form.update(|form| *part(form) = text);
                }
            />
            {label}
        </label>
    }
    .into_any()
}

/// The placement as YAML. While the box is ticked the text is saved instead of the fields; it is initialised from the fields.
fn yaml_editor(
    form: RwSignal<PlacementForm>,
    fleet: StoredValue<Fleet>,
    wrong: FieldFindings,
    field_generation: RwSignal<u32>,
) -> AnyView {
    let (on, begin) = form.with_untracked(|form| (form.as_text == "yes", form.text.clone()));
    let text = RwSignal::new(begin);
    let switch = move |ev| {
        let on = event_target_checked(&ev);
        form.update(|form| {
            // The other representation is initialised from the one that was edited.
            match (on, form.parse()) {
                (true, Ok(placement)) => form.text = super::form::to_yaml(&placement),
                (false, Ok(placement)) => {
                    let fields = PlacementForm::from_placement(&placement);
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
            field_generation.update(|n| *n += 1);
        }
    };
    view! {
        <details class="fold" open=on>
            <summary>"As YAML"</summary>
            <div class="field pt-3">
            <label class="choice">
                <input class="checkbox" type="checkbox" name="placement[as_text]" value="yes" checked=on on:change=switch />
                "Use this text instead of the fields"
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
            <p class="field-help">{finding_or_help(wrong, "/placement/text".to_owned(), "The `placement` of the API and the command line.")}</p>
            </div>
        </details>
    }
    .into_any()
}
