//! The fields of a placement: predicates, exclusions, tolerations, number of clusters, spread and scores.
//!
//! CSS shows the part of a predicate that its checked radio button selects, so the form works without JavaScript.

use leptos::prelude::*;

use super::candidates::Fleet;
use super::evaluations::LiveDecision;
use super::fleet_values::FleetValues;
use super::form::{PlacementForm, PredicateForm, SelectBy, SpreadForm, TermForm};
use crate::components::icon;
use crate::workloads::text_field::{self, FieldFindings, TextFieldProps};
use terms::TermList;

mod constraints;
mod names;
mod suggestions;
mod terms;
mod yaml;

/// What the fields share.
#[derive(Clone, Copy)]
struct PlacementFieldContext {
    form: RwSignal<PlacementForm>,
    fleet: StoredValue<Fleet>,
    /// What the fleet has, for suggestions.
    values: StoredValue<FleetValues>,
    wrong: FieldFindings,
    decision: Memo<LiveDecision>,
    default_available: Memo<Option<(u32, u32)>>,
}

impl PlacementFieldContext {
    /// A field of the placement, initialised from the form and not updated from it.
    fn text_field(
        self,
        of: TextFieldProps,
        part: impl Fn(&mut PlacementForm) -> Option<&mut String> + Send + Sync + Clone + 'static,
    ) -> AnyView {
        let (form, reading) = (self.form, part.clone());
        let read = move || reading(&mut form.get_untracked()).cloned().unwrap_or_default();
        let write = move |text: String| {
            form.update(|form| {
                if let Some(value) = part(form) {
                    *value = text;
                }
            });
        };
        text_field::text_field(self.wrong, TextFieldProps { form: "placement", ..of }, read, write)
    }
}

/// Minimum number of rows for spreads and for scores; there is always one blank row.
const MIN_SPREAD_ROWS: usize = 1;
const MIN_SCORE_ROWS: usize = 2;

/// Adds a blank row to each list, so that rows can be added without JavaScript. In a large fleet the names are moved into the
/// text field.
pub fn with_spare_rows(mut form: PlacementForm, fleet: &Fleet) -> PlacementForm {
    form.spread.resize_with((form.spread.len() + 1).max(MIN_SPREAD_ROWS), SpreadForm::default);
    form.score.resize_with((form.score.len() + 1).max(MIN_SCORE_ROWS), Default::default);
    for set in &mut form.predicates {
        for rows in [&mut set.labels, &mut set.facts] {
            if rows.last().is_none_or(|row| !row.is_blank()) {
                rows.push(TermForm::default());
            }
        }
        if names::uses_text_field(fleet) {
            set.typed_names = set.all_names().join(" ");
            set.names.clear();
        }
    }
    form
}

/// Removes the blank rows after the first one: with script a button adds them.
fn drop_spare_terms(form: &mut PlacementForm) {
    for set in &mut form.predicates {
        for rows in [&mut set.labels, &mut set.facts] {
            while rows.len() > 1 && rows.last().is_some_and(TermForm::is_blank) {
                rows.pop();
            }
        }
    }
}

/// The fields. Each is stored in the signal and sent under `placement[…]`.
#[component]
pub fn PlacementFields(
    /// The form.
    form: RwSignal<PlacementForm>,
    /// The fleet to select from.
    fleet: StoredValue<Fleet>,
    /// What the form selects.
    decision: Memo<LiveDecision>,
    /// How many of the selected clusters run the workload at least while others lose it, if the form has no number; and how many are
    /// selected.
    default_available: Memo<Option<(u32, u32)>>,
) -> impl IntoView {
    let wrong = Memo::new(move |_| form.with(PlacementForm::findings_by_field));
    let values = StoredValue::new(fleet.with_value(FleetValues::count));
    let context = PlacementFieldContext { form, fleet, values, wrong, decision, default_available };
    let sets = Memo::new(move |_| form.with(|form| form.predicates.len()));
    let as_text = Memo::new(move |_| form.with(|form| form.as_text == "yes"));
    let add = move |_| {
        let rows = vec![TermForm::default()];
        let set = PredicateForm { labels: rows.clone(), facts: rows, ..PredicateForm::default() };
        form.update(|form| form.predicates.push(set));
    };
    Effect::new(move |_| form.update(drop_spare_terms));
    // Fields are initialised from the form and not updated from it: a replaced form creates new fields.
    let field_generation = RwSignal::new(0);
    view! {
        <div class="fields placement-fields">
            <div class="fields" class:hidden=move || as_text.get()>
                {move || {
                    field_generation.track();
                    (0..sets.get()).map(|at| predicate_fields(context, at)).collect_view()
                }}
                <div class="noscript:hidden">
                    <button class="btn btn-sm btn-quiet btn-add" type="button" on:click=add>
                        {icon("plus")}
                        "Add alternative"
                    </button>
                </div>
                {move || {
                    field_generation.track();
                    constraints::constraint_fields(context)
                }}
                {terms::key_lists(context)}
            </div>
            {yaml::yaml_editor(context, field_generation)}
        </div>
    }
    .into_any()
}

fn predicate_fields(context: PlacementFieldContext, at: usize) -> AnyView {
    let PlacementFieldContext { form, fleet, .. } = context;
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
        <fieldset class="field group/set" id=(at == 0).then_some("placement-selection")>
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
            <div class="hidden group-has-[.by-labels:checked]/set:block group-has-[.by-mixed:checked]/set:block">
                {terms::term_rows(context, TermList::Labels, at)}
            </div>
            <div class="hidden group-has-[.by-facts:checked]/set:block group-has-[.by-mixed:checked]/set:block">
                {terms::term_rows(context, TermList::Facts, at)}
            </div>
            <p class="field-help hidden group-has-[.by-all:checked]/set:block">"Every cluster, including those that join later."</p>
        </fieldset>
    }
    .into_any()
}
