//! Presses of the pointer. A field loses the focus when another element is pressed, and what the page then shows can move that element
//! away from the pointer before the release: the browser reports no click of it.
//!
//! What is shown when a field is left waits for the release. A control that moved nevertheless, as by a live update, is clicked.

#[cfg(not(feature = "hydrate"))]
mod server {
    /// Runs `then`, after the release if the pointer is pressed.
    pub fn run_after_release(_then: impl FnOnce() + 'static) {}
    /// Clicks controls that moved away from the pointer while they were pressed.
    pub fn watch_presses() {}
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use std::cell::RefCell;
    use std::time::Duration;

    use leptos::prelude::set_timeout;
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{Element, HtmlElement, MouseEvent, Node};

    /// The browser may report no release, as after a drag.
    const LONGEST_PRESS: Duration = Duration::from_secs(1);
    /// How far the pointer itself may move between press and release, in pixels: further, and the person has changed their mind.
    const STILL: i32 = 4;
    /// What is clicked.
    const CONTROLS: &str = "button, a[href], summary, label, input[type=checkbox], input[type=radio]";

    /// A press of the main button.
    struct Press {
        /// The control under the pointer.
        control: Option<HtmlElement>,
        /// Where the pointer was, in the window.
        place: (i32, i32),
    }

    thread_local! {
        /// The press until its release.
        static PRESS: RefCell<Option<Press>> = const { RefCell::new(None) };
        /// What waits for the release.
        static WAITING: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
    }

    /// Runs `then`; if the pointer is pressed, after the release and its click.
    pub fn run_after_release(then: impl FnOnce() + 'static) {
        if PRESS.with_borrow(Option::is_none) {
            return then();
        }
        WAITING.with_borrow_mut(|waiting| waiting.push(Box::new(then)));
        set_timeout(run_waiting, LONGEST_PRESS);
    }

    fn run_waiting() {
        for then in WAITING.take() {
            then();
        }
    }

    /// Clicks controls that moved away from the pointer while they were pressed.
    pub fn watch_presses() {
        listen("mousedown", |event| {
            let control = find_target(event).and_then(|target| target.closest(CONTROLS).ok().flatten());
            let control = control.and_then(|control| control.dyn_into::<HtmlElement>().ok());
            let control = control.filter(|_| is_plain(event));
            PRESS.set(Some(Press { control, place: find_place(event) }));
        });
        listen("mouseup", |event| {
            let Some(press) = PRESS.take() else { return };
            if let Some(control) = find_missed(&press, event) {
                // After the click that the browser reports, of the element that contains both places.
                set_timeout(move || control.click(), Duration::ZERO);
            }
            // After the click, which follows the release immediately.
            set_timeout(run_waiting, Duration::ZERO);
        });
        listen("dragend", |_| {
            PRESS.set(None);
            run_waiting();
        });
    }

    fn listen(kind: &str, react: impl Fn(&MouseEvent) + 'static) {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
        let listener = Closure::<dyn Fn(MouseEvent)>::new(move |event: MouseEvent| react(&event));
        // Before the listeners of the page, which may stop the event.
        let _ =
            document.add_event_listener_with_callback_and_bool(kind, listener.as_ref().unchecked_ref(), true);
        listener.forget();
    }

    fn find_target(event: &MouseEvent) -> Option<Element> {
        event.target()?.dyn_into().ok()
    }

    fn find_place(event: &MouseEvent) -> (i32, i32) {
        (event.client_x(), event.client_y())
    }

    /// Whether it is the main button alone: with a key, the browser does something else with a link.
    fn is_plain(event: &MouseEvent) -> bool {
        let has_modifier = event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key();
        event.button() == 0 && !has_modifier
    }

    /// The pressed control, if the pointer is still and no longer above it.
    fn find_missed(press: &Press, event: &MouseEvent) -> Option<HtmlElement> {
        let control = press.control.as_ref().filter(|control| control.is_connected())?;
        let (x, y) = find_place(event);
        let is_still = (x - press.place.0).abs() <= STILL && (y - press.place.1).abs() <= STILL;
        let target = find_target(event)?;
        let node: &Node = target.as_ref();
        let is_missed = is_still && is_plain(event) && !control.contains(Some(node));
        is_missed.then(|| control.clone())
    }
}
