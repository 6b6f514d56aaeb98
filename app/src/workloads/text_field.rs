//! A text field of an editor, with its finding.

use std::collections::BTreeMap;

use domain::Finding;
use leptos::prelude::*;

use crate::components::icon;

/// Findings by the path of the field.
pub type FieldFindings = Memo<BTreeMap<String, Finding>>;

/// Properties of a text field.
#[derive(Default)]
pub struct TextFieldProps {
    /// The form it belongs to: `placement`, `rollout`.
    pub form: &'static str,
    /// Path in that form: `number`, `predicates/0/selector`.
    pub path: String,
    /// The label.
    pub label: &'static str,
    /// The placeholder.
    pub placeholder: &'static str,
    /// Help text below the field.
    pub help: &'static str,
    /// Whether the label is visible to screen readers only, for fields in a row with headers.
    pub label_hidden: bool,
    /// Whether the value is a number.
    pub numeric: bool,
    /// Id of a `datalist`; empty for none.
    pub list: String,
}

/// The field. Shows the result of `read`, reactively, and passes input to `write`.
pub fn text_field(
    wrong: FieldFindings,
    of: TextFieldProps,
    read: impl Fn() -> String + Send + Sync + 'static,
    write: impl Fn(String) + Send + Sync + 'static,
) -> AnyView {
    render_field(wrong, of, Box::new(read), Box::new(write))
}

/// Returns the current text.
type ReadText = Box<dyn Fn() -> String + Send + Sync>;
/// Stores a text.
type WriteText = Box<dyn Fn(String) + Send + Sync>;

fn render_field(wrong: FieldFindings, of: TextFieldProps, read: ReadText, write: WriteText) -> AnyView {
    let begin = untrack(&read);
    let id = format!("{}-{}", of.form, of.path.replace('/', "-"));
    let path = format!("/{}/{}", of.form, of.path);
    let name = of.path.split('/').fold(of.form.to_owned(), |name, part| format!("{name}[{part}]"));
    let bad = {
        let path = path.clone();
        move || wrong.with(|wrong| wrong.contains_key(&path)).to_string()
    };
    view! {
        <div class="field">
            <label class=if of.label_hidden { "sr-only" } else { "field-label" } for=id.clone()>
                {of.label}
            </label>
            <input
                class="input input-mono"
                id=id.clone()
                name=name
                value=begin
                prop:value=read
                placeholder=of.placeholder
                maxlength="2000"
                autocomplete="off"
                spellcheck="false"
                inputmode=of.numeric.then_some("numeric")
                list=(!of.list.is_empty()).then_some(of.list)
                aria-invalid=bad
                aria-describedby=format!("{id}-help")
                on:input=move |ev| write(event_target_value(&ev))
            />
            <p class="field-help" id=format!("{id}-help")>
                {finding_or_help(wrong, path, of.help)}
            </p>
        </div>
    }
    .into_any()
}

/// The finding of the field at `path`, or else the help.
pub fn finding_or_help(wrong: FieldFindings, path: String, help: &'static str) -> impl IntoView {
    move || match wrong.with(|wrong| wrong.get(&path).cloned()) {
        Some(finding) => view! {
            <span class="field-message hue-degraded">
                {icon("error")} <span>{format!("{} {}", finding.message, finding.hint)}</span>
            </span>
        }
        .into_any(),
        None => help.into_any(),
    }
}
