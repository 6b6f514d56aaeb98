//! The rows of a list of rules: the objects of each, and what is set for them. The last one is blank, so that a rule can be added
//! without script; with script it is displayed once a rule is added.

use leptos::prelude::*;

use super::rule_rows::{RuleList, RuleRow};
use super::rule_suggestions::list_id;
use crate::components::icon;

impl RuleList {
    const fn legend(self) -> &'static str {
        match self {
            Self::Ignore => "Ignored fields",
            Self::Update => "Update strategy",
            Self::Orphan => "Orphaned objects",
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Ignore => "ignored field",
            Self::Update => "update strategy",
            Self::Orphan => "orphaned object",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Self::Ignore => {
                "Paths of one object, separated by spaces. They belong to other clients of the cluster. Kind, name and namespace: empty for all."
            }
            Self::Update => {
                "How the objects are written; of several that match, the last one applies. Kind, name and namespace: empty for all."
            }
            Self::Orphan => {
                "They stay on the cluster under the deletion policy for them, also when a new revision no longer contains them."
            }
        }
    }

    /// The values of the select with their labels; none for a list without one.
    const fn options(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Ignore => {
                &[("onPresence", "Once the object exists"), ("onChange", "When changed on the cluster")]
            }
            Self::Update => &[
                ("", "Select a strategy"),
                ("serverSideApply", "Server-side apply"),
                ("createOnly", "Create only"),
                ("readOnly", "Read only"),
            ],
            Self::Orphan => &[],
        }
    }
}

/// The rows with which a list begins: these rules, and a blank one. Input with which the page was left is entered by the positions of the
/// rows, so that a blank row before another one stays.
fn begin_rows(list: RuleList, rules: &[RuleRow]) -> Vec<(usize, RuleRow)> {
    let written = rules.iter().rposition(|row| !row.is_blank(list)).map_or(0, |last| last + 1);
    rules.iter().take(written).cloned().chain([RuleRow::default()]).enumerate().collect()
}

/// The rows of a list, with these rules.
pub(super) fn rule_fields(list: RuleList, rules: &[RuleRow]) -> AnyView {
    let begin = begin_rows(list, rules);
    // A number is not used again: what was typed into a removed row does not come back.
    let next = StoredValue::new(begin.len());
    let spare = SpareRow { at: begin.len() - 1, is_displayed: RwSignal::new(false) };
    let rows = RwSignal::new(begin);
    let add = move |_| {
        if !spare.is_displayed.get_untracked() {
            return spare.is_displayed.set(true);
        }
        let at = next.get_value();
        next.set_value(at + 1);
        rows.update(|rows| rows.push((at, RuleRow::default())));
    };
    view! {
        <fieldset class="field">
            <legend class="field-label mb-1">{list.legend()}</legend>
            <For
                each=move || rows.get()
                key=|(at, _)| *at
                children=move |(at, row)| rule_row((list, at), row, rows, spare)
            />
            <div>
                <button class="btn btn-sm btn-quiet btn-add noscript:hidden" type="button" on:click=add>
                    {icon("plus")}
                    {format!("Add {}", list.noun())}
                </button>
            </div>
            <p class="field-help">{list.help()}</p>
        </fieldset>
    }
    .into_any()
}

/// The blank row with which the list begins.
#[derive(Clone, Copy)]
struct SpareRow {
    at: usize,
    /// Whether it is displayed with script too.
    is_displayed: RwSignal<bool>,
}

fn rule_row(
    (list, at): (RuleList, usize),
    row: RuleRow,
    rows: RwSignal<Vec<(usize, RuleRow)>>,
    spare: SpareRow,
) -> AnyView {
    // Input with which the page was left is entered here too.
    let note_input = move |_| {
        if at == spare.at {
            spare.is_displayed.set(true);
        }
    };
    let is_spare = move || at == spare.at && !spare.is_displayed.get();
    let number = at + 1;
    let remove = move |_| rows.update(|rows| rows.retain(|(other, _)| *other != at));
    let RuleRow { kind, name, namespace, paths, option } = row;
    let paths = (list == RuleList::Ignore)
        .then(|| text_input((list, at), ("paths", "Paths"), paths, "/spec/replicas"));
    let select = (!list.options().is_empty()).then(|| option_select(list, at, option));
    view! {
        <div class="rule-row" class:rule-spare=is_spare on:input=note_input>
            {text_input((list, at), ("kind", "Kind"), kind, "any kind")}
            {text_input((list, at), ("name", "Name"), name, "any name")}
            {text_input((list, at), ("namespace", "Namespace"), namespace, "any namespace")}
            {paths}
            {select}
            <button
                class="btn btn-sm btn-icon btn-quiet noscript:hidden"
                type="button"
                aria-label=format!("Remove {} {number}", list.noun())
                on:click=remove
            >
                {icon("close")}
            </button>
        </div>
    }
    .into_any()
}

fn field_name((list, at): (RuleList, usize), part: &str) -> String {
    format!("form[policies][{}][{at}][{part}]", list.slug())
}

fn text_input(
    (list, at): (RuleList, usize),
    (part, label): (&'static str, &'static str),
    value: String,
    example: &'static str,
) -> AnyView {
    view! {
        <input
            class="input input-mono min-w-32 flex-1"
            name=field_name((list, at), part)
            value=value
            placeholder=example
            maxlength="2000"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            list=list_id(part)
            aria-label=format!("{label} of {} {}", list.noun(), at + 1)
        />
    }
    .into_any()
}

fn option_select(list: RuleList, at: usize, selected: String) -> AnyView {
    let label = match list {
        RuleList::Ignore => "Time",
        RuleList::Update | RuleList::Orphan => "Strategy",
    };
    let option = move |(value, word): &(&'static str, &'static str)| {
        view! {
            <option value=*value selected=*value == selected>
                {*word}
            </option>
        }
    };
    view! {
        <select
            class="select min-w-32 flex-1"
            name=field_name((list, at), "option")
            aria-label=format!("{label} of {} {}", list.noun(), at + 1)
        >
            {list.options().iter().map(option).collect_view()}
        </select>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_its_position_behind_blank_ones_and_blank_ones_at_the_end_are_one() {
        let row = |kind: &str| RuleRow { kind: kind.to_owned(), ..RuleRow::default() };
        let kinds = |rules: &[RuleRow]| -> Vec<String> {
            begin_rows(RuleList::Orphan, rules).into_iter().map(|(_, row)| row.kind).collect()
        };
        assert_eq!(kinds(&[]), [""]);
        assert_eq!(kinds(&[row(""), row(""), row("Secret"), row(""), row("")]), ["", "", "Secret", ""]);
    }
}
