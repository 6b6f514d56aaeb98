//! A YAML editor over a plain `<textarea>`. The textarea is the form's field and is there without script; the editor module
//! covers it and writes every change back.

use domain::finding::Finding;
use leptos::html::Div;
use leptos::prelude::*;

use super::findings::anchor;
use crate::live;

/// The editor of one file.
#[component]
pub fn Editor(
    /// Name of the form field.
    #[prop(into)]
    field: String,
    /// Name of the file, for labels and links from findings.
    #[prop(into)]
    file: Signal<String>,
    /// The text it begins with.
    text: String,
    /// What to show at the lines.
    #[prop(into)]
    findings: Signal<Vec<Finding>>,
    /// Hears every change.
    on_text: Callback<String>,
    /// The text as it is now, if something beside the editor changes it too.
    #[prop(optional, into)]
    now: Option<Signal<String>>,
) -> impl IntoView {
    let id = move || anchor(&file.get());
    let element = NodeRef::<Div>::new();
    Effect::new(move |_| {
        if let (Some(element), Some(now)) = (element.get(), now) {
            now.with(|text| live::editor::show_text(&element, text));
        }
    });
    Effect::new(move |_| {
        if let Some(element) = element.get() {
            live::editor::summon();
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

/// A textarea whose text is in the page the server sends.
///
/// The text goes in as escaped HTML: as a child node an empty text would become a blank, and dynamic text would bring a
/// marker comment, which inside a textarea is text.
#[component]
pub fn TextArea(
    /// Class.
    class: &'static str,
    /// Name of the form field.
    #[prop(into)]
    field: String,
    /// The text it begins with.
    text: String,
    /// Its accessible name.
    #[prop(into)]
    label: Signal<String>,
    /// Hears every change.
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
            inner_html=escaped(&text)
        ></textarea>
    }
    .into_any()
}

/// Text as it may stand inside a textarea. The parser drops one leading line break, so one is given to it.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if text.starts_with('\n') { format!("\n{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_textarea() {
        assert_eq!(escaped("</textarea><script>"), "&lt;/textarea&gt;&lt;script&gt;");
        assert_eq!(escaped("&lt;"), "&amp;lt;");
        assert_eq!(escaped("\na: 1"), "\n\na: 1");
    }
}
