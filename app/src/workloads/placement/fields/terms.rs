//! The conditions of a predicate on labels and facts: key, operator and values, which are offered from the fleet.

use domain::placement::FactKey;
use leptos::prelude::*;

use super::PlacementFieldContext;
use super::suggestions::suggestion_list;
use crate::components::icon;
use crate::workloads::placement::fleet_values::Suggestion;
use crate::workloads::placement::form::{PlacementForm, TermForm, TermOperator};
use crate::workloads::text_field::finding_or_help;

/// What the conditions are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermList {
    Labels,
    Facts,
}

impl TermList {
    const fn slug(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Facts => "facts",
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Labels => "label",
            Self::Facts => "fact",
        }
    }

    const fn legend(self) -> &'static str {
        match self {
            Self::Labels => "All of these labels",
            Self::Facts => "All of these facts",
        }
    }

    const fn operators(self) -> &'static [TermOperator] {
        match self {
            Self::Labels => &TermOperator::FOR_LABELS,
            Self::Facts => &TermOperator::FOR_FACTS,
        }
    }

    const fn key_placeholder(self) -> &'static str {
        match self {
            Self::Labels => "env",
            Self::Facts => "provider",
        }
    }

    const fn value_placeholder(self) -> &'static str {
        match self {
            Self::Labels => "prod",
            Self::Facts => "aws",
        }
    }

    /// The id of the list of keys.
    const fn key_list(self) -> &'static str {
        match self {
            Self::Labels => "label-keys",
            Self::Facts => "fact-keys",
        }
    }

    fn rows(self, form: &PlacementForm, at: usize) -> &[TermForm] {
        let Some(set) = form.predicates.get(at) else { return &[] };
        match self {
            Self::Labels => &set.labels,
            Self::Facts => &set.facts,
        }
    }

    fn rows_mut(self, form: &mut PlacementForm, at: usize) -> Option<&mut Vec<TermForm>> {
        let set = form.predicates.get_mut(at)?;
        Some(match self {
            Self::Labels => &mut set.labels,
            Self::Facts => &mut set.facts,
        })
    }
}

/// The lists of keys, once per page.
pub(super) fn key_lists(context: PlacementFieldContext) -> AnyView {
    let fact =
        |fact: &FactKey| Suggestion { text: fact.as_str().to_owned(), label: fact.as_str().to_owned() };
    view! {
        {suggestion_list(TermList::Labels.key_list().to_owned(), move || context.values.with_value(|values| values.label_keys()))}
        {suggestion_list(TermList::Facts.key_list().to_owned(), move || FactKey::ALL.iter().map(fact).collect())}
    }
    .into_any()
}

/// The rows of the predicate at this position.
pub(super) fn term_rows(context: PlacementFieldContext, list: TermList, at: usize) -> AnyView {
    let form = context.form;
    let count = Memo::new(move |_| form.with(|form| list.rows(form, at).len()));
    let add = move |_| {
        form.update(|form| {
            if let Some(rows) = list.rows_mut(form, at) {
                rows.push(TermForm::default());
            }
        });
    };
    view! {
        <fieldset class="field">
            <legend class="field-label mb-1">{list.legend()}</legend>
            {move || (0..count.get()).map(|row| term_row(context, list, at, row)).collect_view()}
            <div>
                <button class="btn btn-sm btn-quiet btn-add noscript:hidden" type="button" on:click=add>
                    {icon("plus")}
                    {format!("Add {}", list.noun())}
                </button>
            </div>
            <p class="field-help">
                {match list {
                    TermList::Labels => "Several values, such as eu, us, mean any of them.",
                    TermList::Facts => "Confirmed facts of the clusters. Several values mean any of them; versions can be compared.",
                }}
            </p>
        </fieldset>
    }
    .into_any()
}

fn term_row(context: PlacementFieldContext, list: TermList, at: usize, row: usize) -> AnyView {
    let PlacementFieldContext { form, wrong, .. } = context;
    let begin = form.with_untracked(|form| list.rows(form, at).get(row).cloned().unwrap_or_default());
    let path = format!("/placement/predicates/{at}/{}/{row}", list.slug());
    let id = format!("placement-predicates-{at}-{}-{row}", list.slug());
    let edit = move |change: Box<dyn FnOnce(&mut TermForm)>| {
        form.update(|form| {
            if let Some(term) = list.rows_mut(form, at).and_then(|rows| rows.get_mut(row)) {
                change(term);
            }
        });
    };
    let bad = {
        let path = path.clone();
        move || wrong.with(|wrong| wrong.contains_key(&path)).to_string()
    };
    let remove = move |_| {
        form.update(|form| {
            if let Some(rows) = list.rows_mut(form, at).filter(|rows| row < rows.len()) {
                rows.remove(row);
            }
        });
    };
    let number = row + 1;
    let described = format!("{id}-help");
    view! {
        <div class="placement-term">
            <input
                class="input input-mono"
                name=field_name(list, at, row, "key")
                value=begin.key
                placeholder=list.key_placeholder()
                list=list.key_list()
                maxlength="2000"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                aria-label=format!("Key of {} {number}", list.noun())
                aria-invalid=bad.clone()
                aria-describedby=described.clone()
                on:input=move |ev| {
                    let key = event_target_value(&ev);
                    edit(Box::new(move |term| term.key = key));
                }
            />
            {operator_select(context, list, (at, row), begin.operator)}
            {value_input(context, list, (at, row), begin.values)}
            <button class="btn btn-sm btn-icon btn-quiet noscript:hidden" type="button" aria-label=format!("Remove {} {number}", list.noun()) on:click=remove>
                {icon("close")}
            </button>
            <p class="field-help placement-term-message" id=described>{finding_or_help(wrong, path, "")}</p>
        </div>
    }
    .into_any()
}

fn operator_select(
    context: PlacementFieldContext,
    list: TermList,
    (at, row): (usize, usize),
    selected: TermOperator,
) -> AnyView {
    let option = move |operator: &TermOperator| {
        view! {
            <option value=operator.slug() selected=*operator == selected>
                {operator.label()}
            </option>
        }
    };
    let change = move |ev| {
        let operator = TermOperator::from_slug(&event_target_value(&ev)).unwrap_or_default();
        context.form.update(|form| {
            if let Some(term) = list.rows_mut(form, at).and_then(|rows| rows.get_mut(row)) {
                term.operator = operator;
            }
        });
    };
    view! {
        <select
            class="select"
            name=field_name(list, at, row, "operator")
            aria-label=format!("Comparison of {} {}", list.noun(), row + 1)
            on:change=change
        >
            {list.operators().iter().map(option).collect_view()}
        </select>
    }
    .into_any()
}

fn value_input(
    context: PlacementFieldContext,
    list: TermList,
    (at, row): (usize, usize),
    begin: String,
) -> AnyView {
    let PlacementFieldContext { form, wrong, values, .. } = context;
    let id = format!("placement-predicates-{at}-{}-{row}-values", list.slug());
    let path = format!("/placement/predicates/{at}/{}/{row}", list.slug());
    let term =
        Memo::new(move |_| form.with(|form| list.rows(form, at).get(row).cloned().unwrap_or_default()));
    let suggestions = move || {
        let TermForm { key, values: text, .. } = term.get();
        values.with_value(|values| match list {
            TermList::Labels => values.label_values(&key, &text),
            TermList::Facts => values.fact_values(&key, &text),
        })
    };
    let is_unused =
        move || term.with(|term| matches!(term.operator, TermOperator::Exists | TermOperator::DoesNotExist));
    view! {
        <input
            class="input input-mono"
            class:invisible=is_unused
            name=field_name(list, at, row, "values")
            value=begin
            placeholder=list.value_placeholder()
            list=id.clone()
            maxlength="2000"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            aria-label=format!("Values of {} {}", list.noun(), row + 1)
            aria-invalid=move || wrong.with(|wrong| wrong.contains_key(&path)).to_string()
            on:input=move |ev| {
                let text = event_target_value(&ev);
                form.update(|form| {
                    if let Some(term) = list.rows_mut(form, at).and_then(|rows| rows.get_mut(row)) {
                        term.values = text;
                    }
                });
            }
        />
        {suggestion_list(id, suggestions)}
    }
    .into_any()
}

fn field_name(list: TermList, at: usize, row: usize, part: &str) -> String {
    format!("placement[predicates][{at}][{}][{row}][{part}]", list.slug())
}
