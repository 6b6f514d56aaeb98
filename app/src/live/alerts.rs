//! Errors of submissions: the first alert that appears soon after one is scrolled into view, because the button that was pressed may be
//! far below it.

#[cfg(not(feature = "hydrate"))]
mod server {
    use leptos::html::Div;
    use leptos::prelude::NodeRef;

    /// Scrolls to an alert that a submission has caused.
    pub fn show_alert(_alert: NodeRef<Div>) {}
    /// Notes every submission of the page.
    pub fn watch_submissions() {}
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use std::cell::Cell;

    use js_sys::Date;
    use leptos::html::Div;
    use leptos::prelude::{Get, NodeRef, request_animation_frame};
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{Event, HtmlFormElement, ScrollIntoViewOptions, ScrollLogicalPosition};

    /// How long after a submission an alert is taken for its result, in milliseconds: a later one has another cause, such as a live
    /// update.
    const RESULT_WITHIN: f64 = 30_000.0;

    thread_local! {
        /// When a form was submitted, until an alert has scrolled or something is entered.
        static SUBMITTED_AT: Cell<Option<f64>> = const { Cell::new(None) };
    }

    /// Notes every submission of the page, except of the filters of lists.
    pub fn watch_submissions() {
        listen("submit", |event| {
            let form = event.target().and_then(|target| target.dyn_into::<HtmlFormElement>().ok());
            if form.is_some_and(|form| form.method() == "post") {
                SUBMITTED_AT.set(Some(Date::now()));
            }
        });
        // Whoever enters something is elsewhere on the page, which must not move. A script reports its own changes too.
        listen("input", |event| {
            if event.is_trusted() {
                SUBMITTED_AT.set(None);
            }
        });
    }

    /// Listens on the document while the event is captured: a handler may stop it.
    fn listen(event: &str, handle: impl Fn(Event) + 'static) {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
        let listener = Closure::<dyn Fn(Event)>::new(handle);
        let call = listener.as_ref().unchecked_ref();
        let _ = document.add_event_listener_with_callback_and_bool(event, call, true);
        listener.forget();
    }

    /// Scrolls to an alert that a submission has caused, as far as it is out of sight. Whenever it appears, the input of the form around
    /// it is not saved.
    pub fn show_alert(alert: NodeRef<Div>) {
        let Some(alert) = alert.get() else { return };
        let is_result = SUBMITTED_AT.take().is_some_and(|at| Date::now() - at < RESULT_WITHIN);
        // It may be mounted after the effects of the same change.
        request_animation_frame(move || {
            crate::live::unsaved::note_failed_submission(&alert);
            if !is_result {
                return;
            }
            let options = ScrollIntoViewOptions::new();
            options.set_block(ScrollLogicalPosition::Nearest);
            alert.scroll_into_view_with_scroll_into_view_options(&options);
        });
    }
}
