//! Fields that show a value of the YAML text and change it on input.

use domain::Finding;
use leptos::prelude::*;
use serde_json::Value;

use super::objects::ObjectLocation;
use super::posted::{InputKind, input_name};
use super::source_text::SourceText;
use crate::components::{StatusStyle, icon, textarea_html};

/// Properties of a field.
#[derive(Debug, Clone, Default)]
pub struct FieldProps {
    /// Its label; in a compact field visible to screen readers only.
    pub label: &'static str,
    /// JSON pointer into the object.
    pub path: String,
    /// The placeholder.
    pub example: &'static str,
    /// Whether the value is a number.
    pub number: bool,
    /// Whether it is in a row, without a visible label.
    pub compact: bool,
    /// Help text below the field.
    pub help: &'static str,
}

/// The HTML id of the field at a path.
pub fn field_id(at: ObjectLocation, path: &str) -> String {
    format!("f{}-{}{}", at.file, at.document, path.replace(['/', '.', '~'], "-"))
}

/// A field for a scalar.
pub fn scalar_field(text: SourceText, at: ObjectLocation, field: FieldProps) -> AnyView {
    let path = StoredValue::new(field.path.clone());
    let id = field_id(at, &field.path);
    let shown = Signal::derive(move || path.with_value(|path| text.scalar(at, path)));
    let found = Memo::new(move |_| path.with_value(|path| text.findings(at, path, false)));
    let number = field.number;
    // An emptied field is removed from the text only on blur, so that retyping keeps its position.
    let typed = Callback::new(move |typed: String| {
        if !typed.is_empty() {
            path.with_value(|path| text.set_input(at, path, &typed, number));
        }
    });
    let left = Callback::new(move |typed: String| {
        if typed.is_empty() {
            path.with_value(|path| text.remove_value(at, path));
        }
    });
    let kind = if number { InputKind::Number } else { InputKind::Text };
    let name = input_name(kind, at, &field.path);
    custom_field((id, name), field, shown, found, [typed, left])
}

/// A field with custom callbacks: `callbacks[0]` runs on every input, `callbacks[1]` when the field loses focus. The name
/// says how the server reads it without script; an empty one is not sent.
pub fn custom_field(
    (id, name): (String, String),
    field: FieldProps,
    shown: Signal<String>,
    found: Memo<Vec<Finding>>,
    callbacks: [Callback<String>; 2],
) -> AnyView {
    let FieldProps { label, example, number, compact, help, .. } = field;
    let [typed, left] = callbacks;
    let notes = format!("{id}-notes");
    let input = view! {
        <input
            class="input input-mono"
            id=id.clone()
            name=(!name.is_empty()).then_some(name)
            placeholder=example
            value=shown.get_untracked()
            prop:value=shown
            aria-label=compact.then_some(label)
            aria-invalid=move || found.with(|all| all.iter().any(Finding::is_blocking)).to_string()
            aria-describedby=notes
            inputmode=number.then_some("numeric")
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            on:input=move |ev| typed.run(event_target_value(&ev))
            on:change=move |ev| left.run(event_target_value(&ev))
        />
    };
    with_label_and_notes(id, if compact { "" } else { label }, help, found, input.into_any())
}

/// A field for a list of strings, one per line.
pub fn lines_field(text: SourceText, at: ObjectLocation, field: FieldProps) -> AnyView {
    let FieldProps { label, path, example, help, .. } = field;
    let id = field_id(at, &path);
    let name = input_name(InputKind::Lines, at, &path);
    let shown = {
        let path = path.clone();
        Signal::derive(move || join_lines(text.value(at, &path).as_ref()))
    };
    let found = {
        let path = path.clone();
        Memo::new(move |_| text.findings(at, &path, true))
    };
    let notes = format!("{id}-notes");
    let change = move |typed: String| {
        let items: Vec<Value> = typed.lines().map(Value::from).collect();
        // Empty lines are stored: a person may be about to fill them.
        if typed.is_empty() {
            text.remove_value(at, &path);
        } else {
            text.set_value(at, &path, &Value::from(items));
        }
    };
    // As escaped HTML: dynamic text would add a marker comment, which is text inside a textarea.
    let begin = textarea_html(&shown.get_untracked());
    let rows = shown.get_untracked().lines().count().clamp(1, 6) + 1;
    let input = view! {
        <textarea
            class="textarea input-mono"
            id=id.clone()
            name=name
            rows=rows.to_string()
            placeholder=example
            inner_html=begin
            prop:value=shown
            aria-describedby=notes.clone()
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            on:change=move |ev| change(event_target_value(&ev))
        ></textarea>
    };
    with_label_and_notes(id, label, help, found, input.into_any())
}

fn join_lines(value: Option<&Value>) -> String {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let items: Vec<_> = items.iter().filter_map(domain::field_path::scalar_text).collect();
    items.join("\n")
}

/// Properties of a select.
#[derive(Debug, Clone)]
pub struct SelectProps {
    /// Id of the control.
    pub id: String,
    /// Its label; if compact, visible to screen readers only.
    pub label: &'static str,
    /// Whether it is in a row, without a visible label.
    pub compact: bool,
    /// Value and label of each option.
    pub options: &'static [(&'static str, &'static str)],
}

/// A select. `shown` is the value of the selected option.
pub fn select_field(choice: SelectProps, shown: Signal<String>, choose: Callback<String>) -> AnyView {
    let SelectProps { id, label, compact, options: choices } = choice;
    let begin = shown.get_untracked();
    let options = choices
        .iter()
        .map(|(slug, word)| {
            view! {
                <option value=*slug selected=begin == *slug>
                    {*word}
                </option>
            }
        })
        .collect_view();
    let select = view! {
        <select
            // Without script a choice can't change the fields beside it; the YAML can.
            class="select noscript:hidden"
            id=id.clone()
            prop:value=shown
            aria-label=compact.then_some(label)
            on:change=move |ev| choose.run(event_target_value(&ev))
        >
            {options}
        </select>
    };
    if compact {
        return select.into_any();
    }
    view! {
        <div class="field noscript:hidden">
            <label class="field-label" for=id>
                {label}
            </label>
            {select}
        </div>
    }
    .into_any()
}

fn with_label_and_notes(
    id: String,
    label: &'static str,
    help: &'static str,
    found: Memo<Vec<Finding>>,
    input: AnyView,
) -> AnyView {
    let notes = format!("{id}-notes");
    let label = (!label.is_empty()).then(|| {
        view! {
            <label class="field-label" for=id>
                {label}
            </label>
        }
    });
    view! {
        <div class="field">
            {label} {input}
            <div id=notes>
                {(!help.is_empty()).then(|| view! { <p class="field-help">{help}</p> })}
                {move || found.get().into_iter().map(finding_note).collect_view()}
            </div>
        </div>
    }
    .into_any()
}

/// The findings about a path; with `below`, also about paths below it.
pub fn path_findings(text: SourceText, at: ObjectLocation, path: String, below: bool) -> AnyView {
    let found = Memo::new(move |_| text.findings(at, &path, below));
    view! { {move || found.get().into_iter().map(finding_note).collect_view()} }.into_any()
}

fn finding_note(finding: Finding) -> AnyView {
    let look = StatusStyle::from_severity(finding.severity);
    view! {
        <p class=format!("field-message {}", look.hue)>
            {icon(look.icon)}
            <span>
                <b class="code">{finding.code}</b>
                {format!(" {} {}", finding.message, finding.hint)}
            </span>
        </p>
    }
    .into_any()
}

/// A small button that adds something.
pub fn add_button(word: &'static str, press: impl Fn() + Send + Sync + 'static) -> AnyView {
    view! {
        <button class="btn btn-sm btn-quiet btn-add noscript:hidden" type="button" on:click=move |_| press()>
            {icon("plus")}
            {word}
        </button>
    }
    .into_any()
}

/// The button at the end of a row that removes the row, such as `variable 2`. It can be undone.
pub fn remove_button(text: SourceText, what: String, remove: impl Fn() + Send + Sync + 'static) -> AnyView {
    let label = format!("Remove {what}");
    view! {
        <button class="btn btn-icon btn-quiet noscript:hidden" type="button" aria-label=label on:click=move |_| text.remove_with_undo(what.clone(), &remove)>
            {icon("close")}
        </button>
    }
    .into_any()
}

/// A view for each item of a list.
pub fn item_rows(
    text: SourceText,
    at: ObjectLocation,
    path: String,
    row: impl Fn(usize) -> AnyView + Clone + Send + Sync + 'static,
) -> AnyView {
    let n = Memo::new(move |_| text.count(at, &path));
    view! { <For each=move || 0..n.get() key=|n| *n children=move |n| row(n) /> }.into_any()
}
