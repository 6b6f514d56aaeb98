//! Fields that show a value of the text and change it at once.

use domain::Finding;
use leptos::prelude::*;
use serde_json::Value;

use super::Text;
use super::objects::At;
use crate::components::{Look, icon};

/// One field.
#[derive(Debug, Clone, Default)]
pub struct Field {
    /// Its label; in a row of a table it is only said, not shown.
    pub label: &'static str,
    /// JSON pointer into the object.
    pub path: String,
    /// An example.
    pub example: &'static str,
    /// Whether the text wants a number.
    pub number: bool,
    /// In a row, without a visible label.
    pub compact: bool,
    /// Help under it.
    pub help: &'static str,
}

/// The id of the field of a path.
pub fn id_of(at: At, path: &str) -> String {
    format!("f{}-{}{}", at.file, at.document, path.replace(['/', '.', '~'], "-"))
}

/// A field for a scalar.
pub fn field(text: Text, at: At, field: Field) -> AnyView {
    let path = StoredValue::new(field.path.clone());
    let id = id_of(at, &field.path);
    let shown = Signal::derive(move || path.with_value(|path| text.scalar(at, path)));
    let found = Memo::new(move |_| path.with_value(|path| text.findings(at, path, false)));
    let number = field.number;
    // A field that was emptied to type anew keeps its place in the text until it is left.
    let typed = Callback::new(move |typed: String| {
        if !typed.is_empty() {
            path.with_value(|path| text.typed(at, path, &typed, number));
        }
    });
    let left = Callback::new(move |typed: String| {
        if typed.is_empty() {
            path.with_value(|path| text.remove(at, path));
        }
    });
    bare(id, field, shown, found, [typed, left])
}

/// A field with a meaning of its own: `heard` hears every key, and once more when the field is left.
pub fn bare(
    id: String,
    field: Field,
    shown: Signal<String>,
    found: Memo<Vec<Finding>>,
    heard: [Callback<String>; 2],
) -> AnyView {
    let Field { label, example, number, compact, help, .. } = field;
    let [typed, left] = heard;
    let notes = format!("{id}-notes");
    let input = view! {
        <input
            class="input input-mono"
            id=id.clone()
            placeholder=example
            value=shown.get_untracked()
            prop:value=shown
            aria-label=compact.then_some(label)
            aria-invalid=move || found.with(|all| all.iter().any(Finding::blocks)).to_string()
            aria-describedby=notes
            inputmode=number.then_some("numeric")
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            on:input=move |ev| typed.run(event_target_value(&ev))
            on:change=move |ev| left.run(event_target_value(&ev))
        />
    };
    framed(id, if compact { "" } else { label }, help, found, input.into_any())
}

/// A field for a list of texts, one a line.
pub fn lines(text: Text, at: At, field: Field) -> AnyView {
    let Field { label, path, example, help, .. } = field;
    let id = id_of(at, &path);
    let shown = {
        let path = path.clone();
        Signal::derive(move || joined(text.value(at, &path).as_ref()))
    };
    let found = {
        let path = path.clone();
        Memo::new(move |_| text.findings(at, &path, true))
    };
    let notes = format!("{id}-notes");
    let change = move |typed: String| {
        let items: Vec<Value> = typed.lines().map(Value::from).collect();
        // A line that was just begun is empty for now.
        if typed.is_empty() {
            text.remove(at, &path);
        } else {
            text.set(at, &path, &Value::from(items));
        }
    };
    let rows = shown.get_untracked().lines().count().clamp(1, 6) + 1;
    let input = view! {
        <textarea
            class="textarea input-mono"
            id=id.clone()
            rows=rows.to_string()
            placeholder=example
            prop:value=shown
            aria-describedby=notes.clone()
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            on:change=move |ev| change(event_target_value(&ev))
        ></textarea>
    };
    framed(id, label, help, found, input.into_any())
}

fn joined(value: Option<&Value>) -> String {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let items: Vec<_> = items.iter().filter_map(domain::path::scalar).collect();
    items.join("\n")
}

/// What can be chosen.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Id of the control.
    pub id: String,
    /// Its label; in a row it is only said, not shown.
    pub label: &'static str,
    /// In a row, without a visible label.
    pub compact: bool,
    /// Slug and words of each.
    pub choices: &'static [(&'static str, &'static str)],
}

/// A choice. `shown` is the slug of what is chosen.
pub fn choice(choice: Choice, shown: Signal<String>, choose: Callback<String>) -> AnyView {
    let Choice { id, label, compact, choices } = choice;
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
            class="select"
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
        <div class="field">
            <label class="field-label" for=id>
                {label}
            </label>
            {select}
        </div>
    }
    .into_any()
}

fn framed(
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
                {move || found.get().into_iter().map(note).collect_view()}
            </div>
        </div>
    }
    .into_any()
}

/// The findings about a part of the form, in the words of the line.
pub fn notes(text: Text, at: At, path: String, below: bool) -> AnyView {
    let found = Memo::new(move |_| text.findings(at, &path, below));
    view! { {move || found.get().into_iter().map(note).collect_view()} }.into_any()
}

fn note(finding: Finding) -> AnyView {
    let look = Look::of_severity(finding.severity);
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
pub fn add(word: &'static str, press: impl Fn() + Send + Sync + 'static) -> AnyView {
    view! {
        <button class="btn btn-sm btn-quiet" type="button" on:click=move |_| press()>
            {icon("plus")}
            {word}
        </button>
    }
    .into_any()
}

/// The button at the end of a row that takes it out.
pub fn take(label: String, press: impl Fn() + Send + Sync + 'static) -> AnyView {
    view! {
        <button class="btn btn-icon btn-quiet" type="button" aria-label=label on:click=move |_| press()>
            {icon("close")}
        </button>
    }
    .into_any()
}

/// One view for each item of a list.
pub fn rows(
    text: Text,
    at: At,
    path: String,
    row: impl Fn(usize) -> AnyView + Clone + Send + Sync + 'static,
) -> AnyView {
    let n = Memo::new(move |_| text.count(at, &path));
    view! { <For each=move || 0..n.get() key=|n| *n children=move |n| row(n) /> }.into_any()
}
