//! The document: theme, clipboard, dialogs, the clock, highlighting of changed cells, arrow keys in the matrix.
//!
//! Each function has a no-op variant for the server, so that pages call it unconditionally.

#[cfg(not(feature = "hydrate"))]
mod server {
    use domain::Timestamp;
    use leptos::html::{Input, Nav};
    use leptos::prelude::{NodeRef, RwSignal};
    use leptos::web_sys::{Event, FocusEvent, HtmlDialogElement, KeyboardEvent, SubmitEvent};

    /// Applies a theme.
    pub fn show_theme(_theme: Option<&str>) {}
    /// Whether the document says that shortcuts of one character are off.
    #[cfg(not(feature = "ssr"))]
    pub fn are_shortcuts_off() -> bool {
        false
    }
    /// Switches shortcuts of one character off, or on again.
    pub fn set_shortcuts_off(_off: bool) {}
    /// Closes a menu after a choice.
    pub fn close_menu(_id: &str) {}
    /// Returns the focus to the element that has it now, if the rendering that follows takes it.
    pub fn keep_focus() {}
    /// Copies text to the clipboard; returns whether there is one.
    pub fn copy_text(_text: &str) -> bool {
        false
    }
    /// Makes an open dialog modal.
    pub fn show_modal(_dialog: &HtmlDialogElement) {}
    /// Estimates the server's time.
    pub fn start_clock(_clock: RwSignal<Option<Timestamp>>) {}
    /// Makes links of findings move the editor's cursor.
    pub fn follow_finding_links() {}
    /// The id of the release in the cell that an event came from.
    pub fn cell_release(_event: &Event) -> Option<String> {
        None
    }
    /// The id of the release in the cell in which the key of its actions was pressed.
    pub fn actions_key_release(_event: &KeyboardEvent) -> Option<String> {
        None
    }
    /// Moves the focus in a table of links with the arrow keys.
    pub fn move_in_grid(_event: &KeyboardEvent) {}
    /// The height of the element with this id.
    pub fn measure_height(_id: &str) -> Option<i32> {
        None
    }
    /// Calls a function before the next frame.
    pub fn before_next_frame(_call: impl FnOnce() + 'static) {}
    /// Moves the focus to a field.
    pub fn focus_field(_field: NodeRef<Input>) {}
    /// Moves the focus to the content of the page.
    pub fn focus_content() {}
    /// The same, if no element has the focus.
    pub fn focus_content_if_lost() {}
    /// Scrolls a row of tabs so that the current one is in sight.
    pub fn show_current_tab(_row: NodeRef<Nav>) {}
    /// Moves the focus to the image of a container in the form of a source.
    pub fn focus_image(_object: &str, _container: &str) {}
    /// Scrolls to the element that the fragment of the address names.
    pub fn show_fragment() {}
    /// Whether an event came from a field.
    pub fn is_field_event(_event: &FocusEvent) -> bool {
        false
    }
    /// Whether an event came from a link.
    pub fn is_link_event(_event: &FocusEvent) -> bool {
        false
    }
    /// Whether an event came from the editor.
    pub fn is_editor_event(_event: &Event) -> bool {
        false
    }
    /// The names and values of a form that is submitted.
    pub fn form_values(_event: &SubmitEvent) -> Option<Vec<(String, String)>> {
        None
    }
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use std::time::Duration;

    use domain::Timestamp;
    use leptos::html::{Input, Nav};
    use leptos::prelude::*;
    use wasm_bindgen::closure::Closure;
    use wasm_bindgen::{JsCast, JsValue};
    use web_sys::{
        Document, Element, Event, FocusEvent, FocusOptions, FormData, HtmlDialogElement, HtmlElement,
        HtmlFormElement, HtmlInputElement, KeyboardEvent, SubmitEvent,
    };

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

    /// The attribute of the document while shortcuts of one character are off.
    const NO_SHORTCUTS: &str = "data-no-shortcuts";

    /// Whether the document says that shortcuts of one character are off.
    pub fn are_shortcuts_off() -> bool {
        let root = document().and_then(|document| document.document_element());
        root.is_some_and(|root| root.has_attribute(NO_SHORTCUTS))
    }

    /// Switches shortcuts of one character off, or on again.
    pub fn set_shortcuts_off(off: bool) {
        let Some(root) = document().and_then(|document| document.document_element()) else { return };
        let _ = root.toggle_attribute_with_force(NO_SHORTCUTS, off);
    }

    /// Closes a menu after a choice.
    pub fn close_menu(id: &str) {
        if let Some(menu) = document().and_then(|document| document.get_element_by_id(id)) {
            let _ = menu.unchecked_into::<HtmlElement>().hide_popover();
        }
    }

    /// Returns the focus to the element that has it now, if the rendering that follows takes it: attributes of elements that are
    /// rendered again are removed and set, and a link without its address cannot have the focus.
    pub fn keep_focus() {
        let Some(element) = focused_element().and_then(|element| element.dyn_into::<HtmlElement>().ok())
        else {
            return;
        };
        if is_focus_lost() {
            return;
        }
        queue_microtask(move || {
            if is_focus_lost() && element.is_connected() {
                focus_in_place(&element);
            }
        });
    }

    fn focused_element() -> Option<Element> {
        document()?.active_element()
    }

    fn is_focus_lost() -> bool {
        focused_element().is_none_or(|element| element.tag_name() == "BODY")
    }

    /// Moves the focus without scrolling.
    fn focus_in_place(element: &HtmlElement) {
        let options = FocusOptions::new();
        options.set_prevent_scroll(true);
        let _ = element.focus_with_options(&options);
    }

    /// Copies text to the clipboard; returns whether there is one. A page that was not sent over TLS has none.
    pub fn copy_text(text: &str) -> bool {
        let Some(window) = web_sys::window() else { return false };
        let clipboard = window.navigator().clipboard();
        let is_missing = AsRef::<JsValue>::as_ref(&clipboard).is_undefined();
        if !is_missing {
            let _ = clipboard.write_text(text);
        }
        !is_missing
    }

    /// Makes an open dialog modal.
    pub fn show_modal(dialog: &HtmlDialogElement) {
        show_when_mounted(dialog, MOUNT_FRAMES);
    }

    /// Scrolls a row of tabs so that the current one is in its middle, as far as the row scrolls.
    pub fn show_current_tab(row: NodeRef<Nav>) {
        let Some(row) = row.get() else { return };
        // The links are marked by effects of the same change.
        request_animation_frame(move || {
            let current = row.query_selector("[aria-current=page]").ok().flatten();
            let Some(current) = current.and_then(|link| link.dyn_into::<HtmlElement>().ok()) else { return };
            let middle = current.offset_left() + current.offset_width() / 2;
            row.set_scroll_left(middle - row.offset_left() - row.client_width() / 2);
        });
    }

    /// Scrolls to the element that the fragment of the address names, after a tab was replaced: the router looks for it before.
    pub fn show_fragment() {
        request_animation_frame(|| {
            let fragment = web_sys::window().and_then(|window| window.location().hash().ok());
            let target =
                fragment.and_then(|hash| document()?.get_element_by_id(hash.trim_start_matches('#')));
            if let Some(target) = target {
                target.scroll_into_view();
            }
        });
    }

    /// Frames to wait until a dialog or a field is mounted.
    const MOUNT_FRAMES: u32 = 60;

    /// A part whose code was fetched just now is mounted after its effects have run, and only a mounted dialog can be modal.
    fn show_when_mounted(dialog: &HtmlDialogElement, frames: u32) {
        // Its part of the page was rendered again.
        let is_modal = dialog.matches(":modal").unwrap_or_default();
        if is_modal {
            return;
        }
        if dialog.is_connected() {
            let _ = dialog.remove_attribute("open");
            let _ = dialog.show_modal();
        } else if frames > 0 {
            let dialog = dialog.clone();
            request_animation_frame(move || show_when_mounted(&dialog, frames - 1));
        }
    }

    /// Moves the focus to the image of a container in the form of a source, once the form is mounted. `object` is `Kind/name`: several
    /// objects may have a container of the same name.
    pub fn focus_image(object: &str, container: &str) {
        let (object, container) = (object.to_owned(), container.to_owned());
        // After the focus has moved to the heading of the step, in the same frame.
        request_animation_frame(move || focus_mounted_image(object, container, MOUNT_FRAMES));
    }

    fn focus_mounted_image(object: String, container: String, frames: u32) {
        if let Some(field) = find_image_field(&object, &container) {
            open_folds_around(&field);
            let _ = field.focus();
        } else if frames > 0 {
            request_animation_frame(move || focus_mounted_image(object, container, frames - 1));
        }
    }

    fn find_image_field(object: &str, container: &str) -> Option<HtmlElement> {
        let has = |element: &Element, name: &str, value: &str| {
            element.get_attribute(name).is_some_and(|found| found == value)
        };
        let mut fields = select_all("[data-container]");
        fields.retain(|fields| has(fields, "data-container", container));
        let of_object = fields.iter().find(|fields| {
            let form = fields.closest("[data-object]").ok().flatten();
            form.is_some_and(|form| has(&form, "data-object", object))
        });
        let found = of_object.or_else(|| fields.first())?;
        found.query_selector("input[id$=-image]").ok()??.dyn_into().ok()
    }

    fn open_folds_around(element: &Element) {
        let mut around = element.closest("details").ok().flatten();
        while let Some(fold) = around {
            let _ = fold.set_attribute("open", "");
            around = fold.parent_element().and_then(|parent| parent.closest("details").ok().flatten());
        }
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
                show_source_text();
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

    /// Shows the text of a source instead of its form, where there is no space for both.
    fn show_source_text() {
        for choice in select_all(".source-switch .show-text") {
            if let Ok(choice) = choice.dyn_into::<HtmlInputElement>() {
                choice.set_checked(true);
            }
        }
    }

    /// The id of the release in the cell that an event came from.
    pub fn cell_release(event: &Event) -> Option<String> {
        let target = event.target()?.dyn_into::<Element>().ok()?;
        target.closest("[data-release]").ok()??.get_attribute("data-release")
    }

    /// The id of the release in the cell in which the key of its actions was pressed, if shortcuts of one character are on.
    pub fn actions_key_release(event: &KeyboardEvent) -> Option<String> {
        let has_modifier = event.ctrl_key() || event.meta_key() || event.alt_key();
        let is_pressed = event.key() == "." && !has_modifier && !are_shortcuts_off();
        if is_pressed { cell_release(event) } else { None }
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

    /// The height of the element with this id, in pixels.
    pub fn measure_height(id: &str) -> Option<i32> {
        let element = document()?.get_element_by_id(id)?.dyn_into::<HtmlElement>().ok()?;
        Some(element.offset_height())
    }

    /// Calls a function before the next frame, when the events that follow the present one have been handled.
    pub fn before_next_frame(call: impl FnOnce() + 'static) {
        request_animation_frame(call);
    }

    /// Moves the focus to a field.
    pub fn focus_field(field: NodeRef<Input>) {
        if let Some(field) = field.get_untracked() {
            focus_in_place(&field);
        }
    }

    /// Moves the focus to the content of the page, so that the next tab stop is in it and not in the navigation; in the wizard to
    /// the heading of the step, which stands above it.
    pub fn focus_content() {
        // The heading may be that of the former step until the next frame.
        request_animation_frame(|| {
            let found = document()
                .and_then(|document| document.query_selector("[data-step-heading], #content").ok()?);
            if let Some(content) = found.and_then(|content| content.dyn_into::<HtmlElement>().ok()) {
                focus_in_place(&content);
            }
        });
    }

    /// Moves the focus to the content of the page if no element has it: a closed dialog gives it back to what opened it, which may
    /// have been an item of a menu that is closed.
    pub fn focus_content_if_lost() {
        // The browser gives the focus back before the next frame.
        request_animation_frame(|| {
            if is_focus_lost() {
                focus_content();
            }
        });
    }

    /// Whether an event came from a field, or from the editor.
    pub fn is_field_event(event: &FocusEvent) -> bool {
        is_from(event, "input, select, textarea, flotilla-editor")
    }

    /// Whether an event came from a link.
    pub fn is_link_event(event: &FocusEvent) -> bool {
        is_from(event, "a")
    }

    /// Whether an event came from the editor, which hands its text to the field that it covers.
    pub fn is_editor_event(event: &Event) -> bool {
        is_from(event, "flotilla-editor textarea")
    }

    fn is_from(event: &Event, selector: &str) -> bool {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        target.is_some_and(|target| target.matches(selector).unwrap_or(false))
    }

    /// The names and values of a form that is submitted.
    pub fn form_values(event: &SubmitEvent) -> Option<Vec<(String, String)>> {
        let form = event.target()?.dyn_into::<HtmlFormElement>().ok()?;
        let data = FormData::new_with_form(&form).ok()?;
        let entries = js_sys::try_iter(&data).ok()??;
        let pair = |entry: JsValue| {
            let pair = js_sys::Array::from(&entry);
            Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
        };
        entries.map(|entry| pair(entry.ok()?)).collect()
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
