//! Keyboard shortcuts: Ctrl K the palette; `/` the filter of the list, or the palette; `j`, `k` and the arrow keys the rows of a
//! list; `g` and a letter a page; `?` the list of shortcuts. Off while the user types. Those of one character can be switched off.

use crate::paths;

/// Keys after `g`, the page they open, and its address.
pub const GO_TO_KEYS: [(&str, &str, &str); 9] = [
    ("f", "fleet", paths::FLEET),
    ("w", "workloads", paths::WORKLOADS),
    ("i", "incidents", paths::INCIDENTS),
    ("d", "drift", paths::DRIFT),
    ("c", "clusters", paths::CLUSTERS),
    ("r", "cluster groups", paths::GROUPS),
    ("h", "charts", paths::CHARTS),
    ("e", "events", paths::EVENTS),
    ("s", "settings", paths::SETTINGS),
];

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

    use super::GO_TO_KEYS;
    use crate::live::page::are_shortcuts_off;
    use crate::live::unsaved::confirm_leave;
    use crate::search::{PaletteRequest, PaletteState, use_palette};

    /// The rows of tables and lists of a page, without those in an open row.
    const ROWS: &str = "#content .table > tbody > tr:not(.row-detail, .row-detail *), #content a.list-row";

    pub(in super::super) fn listen() {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
        let navigate = use_navigate();
        let palette = use_palette();
        let after_g = Cell::new(false);
        let page = document.clone();
        let listener = Closure::<dyn Fn(KeyboardEvent)>::new(move |event: KeyboardEvent| {
            let has_modifier = event.ctrl_key() || event.meta_key();
            let key = event.key();
            let is_done = if event.default_prevented() || event.alt_key() {
                false
            } else if has_modifier {
                key == "k" && toggle_palette(&page, palette)
            } else if is_typing(&event) {
                false
            } else if palette.buffer_key(&key) {
                true
            } else {
                let page_key = GO_TO_KEYS.iter().find(|(own, ..)| *own == key).filter(|_| after_g.take());
                after_g.set(key == "g");
                match (key.as_str(), page_key) {
                    ("ArrowDown", _) => move_row(&page, true, true),
                    ("ArrowUp", _) => move_row(&page, false, true),
                    _ if are_shortcuts_off() => false,
                    (_, Some((.., path))) => {
                        if confirm_leave(path) {
                            navigate(path, leptos_router::NavigateOptions::default());
                        }
                        true
                    }
                    ("j", _) => move_row(&page, true, false),
                    ("k", _) => move_row(&page, false, false),
                    ("/", _) => focus_search(&page) || toggle_palette(&page, palette),
                    ("?", _) => show_help(&page),
                    _ => false,
                }
            };
            if is_done {
                event.prevent_default();
            }
        });
        let _ = document.add_event_listener_with_callback("keydown", listener.as_ref().unchecked_ref());
        listener.forget();
    }

    fn is_typing(event: &KeyboardEvent) -> bool {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        target.is_some_and(|target| {
            let field = "input, textarea, select, [contenteditable], flotilla-editor, dialog[open]";
            target.closest(field).is_ok_and(|found| found.is_some())
        })
    }

    fn find<T: JsCast>(page: &Document, selector: &str) -> Option<T> {
        page.query_selector(selector).ok()??.dyn_into().ok()
    }

    /// Opens the palette, or closes it if it is open. Not while another dialog asks something.
    fn toggle_palette(page: &Document, palette: PaletteState) -> bool {
        match find::<HtmlDialogElement>(page, "dialog[open]") {
            None => palette.open(PaletteRequest::default()),
            // The element of the page that had the focus gets it again.
            Some(dialog) if dialog.class_list().contains("palette") => dialog.close(),
            Some(_) => return false,
        }
        true
    }

    fn focus_search(page: &Document) -> bool {
        find::<HtmlElement>(page, "[data-search]").is_some_and(|field| field.focus().is_ok())
    }

    fn show_help(page: &Document) -> bool {
        find::<HtmlDialogElement>(page, "#help:not([open])").is_some_and(|help| help.show_modal().is_ok())
    }

    /// Moves the focus to the next row or the previous one, the first if none has it; with `from_row` only from a row. Returns
    /// whether it moved.
    fn move_row(page: &Document, down: bool, from_row: bool) -> bool {
        let Ok(rows) = page.query_selector_all(ROWS) else { return false };
        let links = (0..rows.length()).filter_map(|at| row_link(&rows.item(at)?.dyn_into().ok()?));
        let links: Vec<HtmlElement> = links.filter(|link| link.offset_height() > 0).collect();
        let focused = page.active_element();
        let at = focused.and_then(|focused| links.iter().position(|link| **link == focused));
        let next = match at {
            Some(at) if down => at + 1,
            Some(at) => at.wrapping_sub(1),
            None if from_row => return false,
            None => 0,
        };
        links.get(next).is_some_and(|link| link.focus().is_ok())
    }

    /// The first link of a row, which opens it.
    fn row_link(row: &Element) -> Option<HtmlElement> {
        let link =
            if row.has_attribute("href") { Some(row.clone()) } else { row.query_selector("a[href]").ok()? };
        link?.dyn_into().ok()
    }
}
