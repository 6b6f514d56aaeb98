//! Keyboard shortcuts: `/` search; `g` and then `f`, `w`, `c`, `e` or `s` navigate; `?` help. Off while the user types.

#[cfg(not(feature = "hydrate"))]
pub(super) fn listen() {}

#[cfg(feature = "hydrate")]
pub(super) use browser::listen;

#[cfg(feature = "hydrate")]
mod browser {
    use std::cell::Cell;

    use leptos_router::hooks::use_navigate;
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{Document, Element, HtmlDialogElement, HtmlElement, KeyboardEvent};

    use crate::paths;

    pub(in super::super) fn listen() {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
        let navigate = use_navigate();
        let after_g = Cell::new(false);
        let page = document.clone();
        let listener = Closure::<dyn Fn(KeyboardEvent)>::new(move |event: KeyboardEvent| {
            if event.ctrl_key() || event.meta_key() || event.alt_key() || is_typing(&event) {
                return;
            }
            let key = event.key();
            if after_g.take()
                && let Some(path) = page_of_key(&key)
            {
                event.prevent_default();
                navigate(path, leptos_router::NavigateOptions::default());
                return;
            }
            match key.as_str() {
                "g" => after_g.set(true),
                "/" if focus_search(&page) => event.prevent_default(),
                "?" => show_help(&page),
                _ => {}
            }
        });
        let _ = document.add_event_listener_with_callback("keydown", listener.as_ref().unchecked_ref());
        listener.forget();
    }

    fn page_of_key(key: &str) -> Option<&'static str> {
        match key {
            "f" => Some(paths::FLEET),
            "w" => Some(paths::WORKLOADS),
            "c" => Some(paths::CLUSTERS),
            "e" => Some(paths::EVENTS),
            "s" => Some(paths::SETTINGS),
            _ => None,
        }
    }

    fn is_typing(event: &KeyboardEvent) -> bool {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        target.is_some_and(|target| {
            let field = "input, textarea, select, [contenteditable], flotilla-editor, dialog[open]";
            target.closest(field).is_ok_and(|found| found.is_some())
        })
    }

    fn focus_search(page: &Document) -> bool {
        let field = page.query_selector("[data-search]").ok().flatten();
        field
            .and_then(|field| field.dyn_into::<HtmlElement>().ok())
            .is_some_and(|field| field.focus().is_ok())
    }

    fn show_help(page: &Document) {
        let help = page.get_element_by_id("help").and_then(|help| help.dyn_into::<HtmlDialogElement>().ok());
        if let Some(help) = help.filter(|help| !help.open()) {
            let _ = help.show_modal();
        }
    }
}
