//! Errors of submissions: the first alert that appears after one is scrolled into view, because the button that was pressed may be
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

    use leptos::html::Div;
    use leptos::prelude::{Get, NodeRef, request_animation_frame};
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{Event, HtmlFormElement, ScrollIntoViewOptions, ScrollLogicalPosition};

    thread_local! {
        /// Whether a form was submitted since the last alert. An alert that is only rendered again, as by a live update, does not scroll.
        static IS_SUBMITTED: Cell<bool> = const { Cell::new(false) };
    }

    /// Notes every submission of the page, except of the filters of lists.
    pub fn watch_submissions() {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
        let listener = Closure::<dyn Fn(Event)>::new(|event: Event| {
            let form = event.target().and_then(|target| target.dyn_into::<HtmlFormElement>().ok());
            if form.is_some_and(|form| form.method() == "post") {
                IS_SUBMITTED.set(true);
            }
        });
        let call = listener.as_ref().unchecked_ref();
        // While it is captured: a handler may stop it.
        let _ = document.add_event_listener_with_callback_and_bool("submit", call, true);
        listener.forget();
    }

    /// Scrolls to an alert that a submission has caused, as far as it is out of sight.
    pub fn show_alert(alert: NodeRef<Div>) {
        let Some(alert) = alert.get() else { return };
        if !IS_SUBMITTED.replace(false) {
            return;
        }
        // It may be mounted after the effects of the same change.
        request_animation_frame(move || {
            let options = ScrollIntoViewOptions::new();
            options.set_block(ScrollLogicalPosition::Nearest);
            alert.scroll_into_view_with_scroll_into_view_options(&options);
        });
    }
}
