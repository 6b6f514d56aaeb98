//! The editor module: fetched when the first editor is displayed; functions to set its findings, text and cursor.

#[cfg(not(feature = "hydrate"))]
mod server {
    use domain::finding::Finding;
    use leptos::web_sys::HtmlDivElement;

    /// Fetches the module.
    pub fn load_module() {}
    /// Marks findings at their lines.
    pub fn show_findings(_frame: &HtmlDivElement, _findings: &[Finding]) {}
    /// Replaces the text of a file's editor.
    pub fn set_text(_file: &str, _text: &str) {}
    /// Displays a text that was not entered in the editor.
    pub fn show_text(_frame: &HtmlDivElement, _text: &str) {}
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use domain::finding::Finding;
    use js_sys::{Array, Object, Reflect};
    use wasm_bindgen::{JsCast, JsValue};
    use web_sys::{Document, Element, HtmlDivElement, HtmlElement, HtmlTextAreaElement};

    use crate::paths::editor_anchor;

    fn document() -> Option<Document> {
        web_sys::window()?.document()
    }

    /// Fetches the module, once. Its address is an attribute of the document; a script element needs no `eval`.
    pub fn load_module() {
        let Some(document) = document() else { return };
        if document.get_element_by_id("editor-module").is_some() {
            return;
        }
        let source = document.document_element().and_then(|root| root.get_attribute("data-editor"));
        if let (Some(source), Ok(script), Some(head)) =
            (source, document.create_element("script"), document.head())
        {
            let _ = script.set_attribute("type", "module");
            let _ = script.set_attribute("src", &source);
            script.set_id("editor-module");
            let _ = head.append_child(&script);
        }
    }

    /// Marks findings at their lines.
    pub fn show_findings(frame: &HtmlDivElement, findings: &[Finding]) {
        let list: Array = findings.iter().filter_map(finding_to_js).collect();
        if let Ok(Some(editor)) = frame.query_selector("flotilla-editor") {
            let _ = Reflect::set(&editor, &"findings".into(), &list);
        }
    }

    /// Displays a text that was not entered in the editor.
    pub fn show_text(frame: &HtmlDivElement, text: &str) {
        let field = frame.query_selector("textarea").ok().flatten();
        let Some(field) = field.and_then(|field| field.dyn_into::<HtmlTextAreaElement>().ok()) else {
            return;
        };
        if field.value() == text {
            return;
        }
        if let Ok(Some(editor)) = frame.query_selector("flotilla-editor")
            && Reflect::has(&editor, &"value".into()).unwrap_or(false)
        {
            let _ = Reflect::set(&editor, &"value".into(), &text.into());
        }
        field.set_value(text);
    }

    fn finding_to_js(finding: &Finding) -> Option<JsValue> {
        let place = finding.location.as_ref()?;
        let object = Object::new();
        let message = format!("{} {}", finding.message, finding.hint);
        let entries: [(&str, JsValue); 5] = [
            ("line", place.line.into()),
            ("column", place.column.into()),
            ("severity", finding.severity.as_str().into()),
            ("code", finding.code.as_str().into()),
            ("message", message.into()),
        ];
        for (key, value) in entries {
            Reflect::set(&object, &key.into(), &value).ok()?;
        }
        Some(object.into())
    }

    /// Replaces the text of a file's editor, as one edit that can be undone; fires no `input` event.
    pub fn set_text(file: &str, text: &str) {
        let frame = document().and_then(|document| document.get_element_by_id(&editor_anchor(file)));
        let Some(frame) = frame else { return };
        // Without the module there is only the plain field, without the custom element's property.
        if let Ok(Some(field)) = frame.query_selector("textarea") {
            let _ = Reflect::set(&field, &"value".into(), &text.into());
        }
        if let Ok(Some(editor)) = frame.query_selector("flotilla-editor") {
            let _ = Reflect::set(&editor, &"value".into(), &text.into());
        }
    }

    /// Moves the cursor of a file's editor; false if the file is not on this page.
    pub fn go_to(file: &str, line: u32, column: u32) -> bool {
        let frame = document().and_then(|document| document.get_element_by_id(&editor_anchor(file)));
        let Some(editor) = frame.and_then(|frame| frame.query_selector("flotilla-editor").ok().flatten())
        else {
            return false;
        };
        jump_to(&editor, line, column);
        true
    }

    fn jump_to(editor: &Element, line: u32, column: u32) {
        let jump = Reflect::get(editor, &"goTo".into())
            .ok()
            .and_then(|value| value.dyn_into::<js_sys::Function>().ok());
        match jump {
            Some(jump) => {
                let _ = jump.call2(editor, &line.into(), &column.into());
            }
            None => {
                let field = editor.query_selector("textarea").ok().flatten();
                if let Some(field) = field.and_then(|field| field.dyn_into::<HtmlElement>().ok()) {
                    let _ = field.focus();
                }
            }
        }
        editor.scroll_into_view();
    }
}
