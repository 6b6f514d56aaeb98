//! One text field of the placement, with what is wrong about it.

use leptos::prelude::*;

use super::{PlacementForm, Wrong};
use crate::components::icon;

/// What a text field says of itself.
#[derive(Default)]
pub(super) struct Input {
    /// Its place: `number`, `sets/0/selector`.
    pub key: String,
    pub label: &'static str,
    pub placeholder: &'static str,
    pub help: &'static str,
    /// The label is only heard: the field stands in a row that has its own.
    pub hidden: bool,
    pub numeric: bool,
    /// Id of a list of proposals.
    pub list: &'static str,
}

/// Where its text is kept.
type Part = Box<dyn Fn(&mut PlacementForm) -> Option<&mut String> + Send + Sync>;

pub(super) fn input(
    form: RwSignal<PlacementForm>,
    wrong: Wrong,
    of: Input,
    part: impl Fn(&mut PlacementForm) -> Option<&mut String> + Send + Sync + 'static,
) -> AnyView {
    boxed(form, wrong, of, Box::new(part))
}

fn boxed(form: RwSignal<PlacementForm>, wrong: Wrong, of: Input, part: Part) -> AnyView {
    let begin = part(&mut form.get_untracked()).cloned().unwrap_or_default();
    let id = format!("placement-{}", of.key.replace('/', "-"));
    let path = format!("/placement/{}", of.key);
    let name = of.key.split('/').fold("placement".to_owned(), |name, part| format!("{name}[{part}]"));
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
                placeholder=of.placeholder
                maxlength="2000"
                autocomplete="off"
                spellcheck="false"
                inputmode=of.numeric.then_some("numeric")
                list=(!of.list.is_empty()).then_some(of.list)
                aria-invalid=bad
                aria-describedby=format!("{id}-help")
                on:input=move |ev| {
                    form.update(|form| if let Some(text) = part(form) { *text = event_target_value(&ev) });
                }
            />
            <p class="field-help" id=format!("{id}-help")>
                {message(wrong, path, of.help)}
            </p>
        </div>
    }
    .into_any()
}

/// What is wrong with the field at this path, else the help.
pub(super) fn message(wrong: Wrong, path: String, help: &'static str) -> impl IntoView {
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
