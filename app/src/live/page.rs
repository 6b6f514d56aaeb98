//! The document: theme, clipboard, dialogs, the clock, highlighting of changed cells, arrow keys in the matrix.
//!
//! Each function has a no-op variant for the server, so that pages call it unconditionally.

#[cfg(not(feature = "hydrate"))]
mod server {
    use domain::Timestamp;
    use leptos::prelude::RwSignal;
    use leptos::web_sys::{Event, HtmlDialogElement, KeyboardEvent};

    /// Applies a theme.
    pub fn show_theme(_theme: Option<&str>) {}
    /// Closes a menu after a choice.
    pub fn close_menu(_id: &str) {}
    /// Copies text to the clipboard.
    pub fn copy_text(_text: &str) {}
    /// Makes an open dialog modal.
    pub fn show_modal(_dialog: &HtmlDialogElement) {}
    /// Estimates the server's time.
    pub fn start_clock(_clock: RwSignal<Option<Timestamp>>) {}
    /// Makes links of findings move the editor's cursor.
    pub fn follow_finding_links() {}
    /// The accessible name of the cell that an event came from.
    pub fn cell_label(_event: &Event) -> Option<String> {
        None
    }
    /// Moves the focus in a table of links with the arrow keys.
    pub fn move_in_grid(_event: &KeyboardEvent) {}
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use std::time::Duration;

    use domain::Timestamp;
    use leptos::prelude::*;
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{Document, Element, Event, HtmlDialogElement, HtmlElement, KeyboardEvent};

    /// How long a changed cell is tinted.
    const FLASH: Duration = Duration::from_millis(600);
    /// How often ages are updated.
    const TICK: Duration = Duration::from_secs(5);

    fn document() -> Option<Document> {
        web_sys::window()?.document()
    }

    /// Applies a theme.
    pub fn show_theme(theme: Option<&str>) {
        let Some(root) = document().and_then(|document| document.document_element()) else { return };
        let _ = match theme {
            Some(theme) => root.set_attribute("data-theme", theme),
            None => root.remove_attribute("data-theme"),
        };
    }

    /// Closes a menu after a choice.
    pub fn close_menu(id: &str) {
        if let Some(menu) = document().and_then(|document| document.get_element_by_id(id)) {
            let _ = menu.unchecked_into::<HtmlElement>().hide_popover();
        }
    }

    /// Copies text to the clipboard.
    pub fn copy_text(text: &str) {
        if let Some(window) = web_sys::window() {
            let _ = window.navigator().clipboard().write_text(text);
        }
    }

    /// Makes an open dialog modal.
    pub fn show_modal(dialog: &HtmlDialogElement) {
        let _ = dialog.remove_attribute("open");
        let _ = dialog.show_modal();
    }

    /// The browser's own time.
    pub fn browser_time() -> Timestamp {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "milliseconds since 1970 fit for 285 million years"
        )]
        Timestamp::from_millis(js_sys::Date::now() as i64)
    }

    /// A number that the server wrote into the page's head.
    fn meta_number(selector: &str) -> Option<i64> {
        let meta = document()?.query_selector(selector).ok()??;
        meta.get_attribute("content")?.parse().ok()
    }

    /// The position of the event log when the page was rendered; 0 if unknown.
    pub fn log_position() -> i64 {
        meta_number("meta[name=log-position]").unwrap_or_default()
    }

    /// Estimates the server's time: the time of rendering plus the time elapsed on the browser's clock.
    pub fn start_clock(clock: RwSignal<Option<Timestamp>>) {
        let start = browser_time().millis();
        let rendered_at = meta_number("meta[name=server-time]").unwrap_or(start);
        set_interval(
            move || {
                let elapsed = browser_time().millis() - start;
                clock.set(Some(Timestamp::from_millis(rendered_at + elapsed)));
            },
            TICK,
        );
    }

    /// Whether the tab is hidden.
    pub fn is_hidden() -> bool {
        document().is_some_and(|document| document.hidden())
    }

    /// Tints the cells of these releases for a moment.
    pub fn flash(releases: &[String]) {
        for id in releases {
            for cell in select_all(&format!("[data-release=\"{id}\"]")) {
                let _ = cell.class_list().add_1("changed");
                set_timeout(
                    move || {
                        let _ = cell.class_list().remove_1("changed");
                    },
                    FLASH,
                );
            }
        }
    }

    fn select_all(selector: &str) -> Vec<Element> {
        let Some(list) = document().and_then(|document| document.query_selector_all(selector).ok()) else {
            return Vec::new();
        };
        (0..list.length()).filter_map(|at| list.item(at)?.dyn_into().ok()).collect()
    }

    /// Makes links of findings move the editor's cursor to their file, line and column.
    pub fn follow_finding_links() {
        let Some(document) = document() else { return };
        let listener = Closure::<dyn Fn(Event)>::new(|event: Event| {
            let link = event
                .target()
                .and_then(|target| target.dyn_into::<Element>().ok()?.closest("a[data-line]").ok()?);
            if let Some(link) = link {
                let number =
                    |name: &str| link.get_attribute(name).and_then(|text| text.parse().ok()).unwrap_or(1);
                let file = link.get_attribute("data-file").unwrap_or_default();
                if super::super::editor::go_to(&file, number("data-line"), number("data-column")) {
                    event.prevent_default();
                    event.stop_propagation();
                }
            }
        });
        let _ = document.add_event_listener_with_callback_and_bool(
            "click",
            listener.as_ref().unchecked_ref(),
            true,
        );
        listener.forget();
    }

    /// The accessible name of the cell that an event came from.
    pub fn cell_label(event: &Event) -> Option<String> {
        let target = event.target()?.dyn_into::<Element>().ok()?;
        target.closest("a[aria-label]").ok()??.get_attribute("aria-label")
    }

    /// Moves the focus in a table of links with the arrow keys.
    pub fn move_in_grid(event: &KeyboardEvent) {
        let step = match event.key().as_str() {
            "ArrowUp" => (-1, 0),
            "ArrowDown" => (1, 0),
            "ArrowLeft" => (0, -1),
            "ArrowRight" => (0, 1),
            _ => return,
        };
        if let Some(link) = find_neighbour(event, step) {
            event.prevent_default();
            let _ = link.focus();
        }
    }

    fn find_neighbour(event: &KeyboardEvent, (down, right): (i32, i32)) -> Option<HtmlElement> {
        let cell = event.target()?.dyn_into::<Element>().ok()?.closest("td").ok()??;
        let row = cell.parent_element()?;
        let mut at = (sibling_index(&row), sibling_index(&cell));
        let body = row.parent_element()?;
        loop {
            at = (at.0 + down, at.1 + right);
            let row = body.children().item(u32::try_from(at.0).ok()?)?;
            let cell = row.children().item(u32::try_from(at.1).ok()?)?;
            if let Ok(Some(link)) = cell.query_selector("a.matrix-cell") {
                return link.dyn_into().ok();
            }
        }
    }

    fn sibling_index(element: &Element) -> i32 {
        let mut count = 0;
        let mut before = element.previous_element_sibling();
        while let Some(sibling) = before {
            count += 1;
            before = sibling.previous_element_sibling();
        }
        count
    }
}
