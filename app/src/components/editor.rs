//! A YAML editor over a plain `<textarea>`. The textarea is the form's field and works without script; the editor module
//! covers it and writes every change back.

use domain::finding::Finding;
use leptos::html::Div;
use leptos::prelude::*;

use super::text::textarea_html;
use crate::live;
use crate::paths::editor_anchor;

/// The editor of one file.
#[component]
pub fn Editor(
    /// Name of the form field.
    #[prop(into)]
    field: String,
    /// Name of the file, for labels and links from findings.
    #[prop(into)]
    file: Signal<String>,
    /// The initial text.
    text: String,
    /// Findings to mark at their lines.
    #[prop(into)]
    findings: Signal<Vec<Finding>>,
    /// Called with the text after every change.
    on_text: Callback<String>,
    /// The current text, if something other than the editor changes it too.
    #[prop(optional, into)]
    now: Option<Signal<String>>,
) -> impl IntoView {
    let id = move || editor_anchor(&file.get());
    let element = NodeRef::<Div>::new();
    Effect::new(move |_| {
        if let (Some(element), Some(now)) = (element.get(), now) {
            now.with(|text| live::editor::show_text(&element, text));
        }
    });
    Effect::new(move |_| {
        if let Some(element) = element.get() {
            live::editor::load_module();
            live::editor::show_findings(&element, &findings.get());
        }
    });
    view! {
        <div class="editor" id=id node_ref=element>
            <flotilla-editor label=move || file.get()>
                <TextArea class="editor-source" field=field text=text label=file on_text=on_text />
            </flotilla-editor>
        </div>
    }
    .into_any()
}

/// A textarea whose text is part of the server-rendered page.
///
/// The text is set as escaped HTML: as a child node an empty text would become a blank, and dynamic text would add a
/// marker comment, which is text inside a textarea.
#[component]
pub fn TextArea(
    /// Class.
    class: &'static str,
    /// Name of the form field.
    #[prop(into)]
    field: String,
    /// The initial text.
    text: String,
    /// Its accessible name.
    #[prop(into)]
    label: Signal<String>,
    /// Called with the text after every change.
    on_text: Callback<String>,
) -> impl IntoView {
    view! {
        <textarea
            class=class
            name=field
            aria-label=move || label.get()
            spellcheck="false"
            autocapitalize="off"
            autocomplete="off"
            on:input=move |ev| on_text.run(event_target_value(&ev))
            inner_html=textarea_html(&text)
        ></textarea>
    }
    .into_any()
}

/// The choice between form and text where there is no space for both (style/fields.css). Its fields belong to no form, so they are
/// not sent.
pub fn form_switch() -> impl IntoView {
    let choice = |class: &'static str, label: &'static str, is_checked: bool| {
        view! {
            <label>
                <input class=class type="radio" name="source-part" form="none" checked=is_checked />
                {label}
            </label>
        }
    };
    view! {
        <div class="source-switch segmented" role="group" aria-label="Form or YAML">
            {choice("show-form", "Form", true)}
            {choice("show-text", "YAML", false)}
        </div>
    }
}
