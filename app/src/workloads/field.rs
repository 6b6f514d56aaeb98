//! One text field of an editor, with what is wrong about it.

use std::collections::BTreeMap;

use domain::Finding;
use leptos::prelude::*;

use crate::components::icon;

/// What is wrong, by field.
pub type Wrong = Memo<BTreeMap<String, Finding>>;

/// What a text field says of itself.
#[derive(Default)]
pub struct Input {
    /// What it is part of: `placement`, `rollout`.
    pub root: &'static str,
    /// Its place there: `number`, `sets/0/selector`.
    pub key: String,
    /// What it asks for.
    pub label: &'static str,
    /// What stands in it while it is empty.
    pub placeholder: &'static str,
    /// More about it, below.
    pub help: &'static str,
    /// The label is only heard: the field stands in a row that has its own.
    pub hidden: bool,
    /// Whether digits are typed.
    pub numeric: bool,
    /// Id of a list of proposals.
    pub list: &'static str,
}

/// The field. It shows what `read` says and follows it where that is reactive; what is typed is given to `write`.
pub fn input(
    wrong: Wrong,
    of: Input,
    read: impl Fn() -> String + Send + Sync + 'static,
    write: impl Fn(String) + Send + Sync + 'static,
) -> AnyView {
    boxed(wrong, of, Box::new(read), Box::new(write))
}

/// Reads the text where it is kept.
type Read = Box<dyn Fn() -> String + Send + Sync>;
/// Keeps a text.
type Write = Box<dyn Fn(String) + Send + Sync>;

fn boxed(wrong: Wrong, of: Input, read: Read, write: Write) -> AnyView {
    let begin = untrack(&read);
    let id = format!("{}-{}", of.root, of.key.replace('/', "-"));
    let path = format!("/{}/{}", of.root, of.key);
    let name = of.key.split('/').fold(of.root.to_owned(), |name, part| format!("{name}[{part}]"));
    let bad = {
        let path = path.clone();
        move || wrong.with(|wrong| wrong.contains_key(&path)).to_string()
    };
    view! {
        <div class="field">
            <label class=if of.hidden { "sr-only" } else { "field-label" } for=id.clone()>
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
                {message(wrong, path, of.help)}
            </p>
        </div>
    }
    .into_any()
}

/// What is wrong with the field at this path, else the help.
pub fn message(wrong: Wrong, path: String, help: &'static str) -> impl IntoView {
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
