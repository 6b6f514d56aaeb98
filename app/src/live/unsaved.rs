//! Forms that only their button saves, and not each input: whoever leaves the page of one by a link, a shortcut or the search while it
//! has input that is not saved is asked first. A form takes part with the attribute `data-guarded`; the error of its submission is an
//! alert in it. A button of it that saves nothing, such as Preview, has the attribute `data-keeps-input`.
//!
//! Going back in the history is not asked about: no page can stop it.

#[cfg(not(feature = "hydrate"))]
mod server {
    use leptos::web_sys::HtmlFormElement;

    /// Gives the fields of a form the values with which it was rendered, unless something was entered since its submission.
    pub fn clear_form(_form: &HtmlFormElement) {}

    /// Notes input and submissions of guarded forms, and asks before it is lost.
    pub fn watch_forms() {}

    /// Whether the page may be left for this address of the console.
    pub fn confirm_leave(_address: &str) -> bool {
        true
    }
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

/// Whether an address has another page than `here`, or another tab: the rest of the query leaves the forms of a page as they are.
#[cfg(any(feature = "hydrate", test))]
fn is_other_page(here: &str, address: &str) -> bool {
    fn split(address: &str) -> (&str, &str) {
        let address = address.split('#').next().unwrap_or_default();
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        (path, query.split('&').find_map(|pair| pair.strip_prefix("tab=")).unwrap_or_default())
    }
    split(here) != split(address)
}

#[cfg(feature = "hydrate")]
mod browser {
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{
        Element, Event, EventTarget, HtmlAnchorElement, HtmlElement, HtmlFormElement, MouseEvent, SubmitEvent,
    };

    use super::is_other_page;
    use crate::live::form::has_typed_input;

    /// A form with input since it was rendered or submitted.
    const CHANGED: &str = "data-changed";
    /// A form that was submitted, until the submission fails.
    const SUBMITTED: &str = "data-submitted";
    const QUESTION: &str = "What you typed on this page is not saved. Leave the page?";

    /// Notes input and submissions of guarded forms, and asks before it is lost.
    pub fn watch_forms() {
        let Some(window) = web_sys::window() else { return };
        let Some(document) = window.document() else { return };
        for kind in ["input", "change"] {
            listen(&document, kind, |event| {
                let form =
                    find_target(event).and_then(|field| field.closest("form[data-guarded]").ok().flatten());
                if let Some(form) = form {
                    let _ = form.set_attribute(CHANGED, "");
                }
            });
        }
        listen(&document, "submit", |event| {
            let button: Option<HtmlElement> = event.dyn_ref::<SubmitEvent>().and_then(SubmitEvent::submitter);
            if button.is_some_and(|button| button.has_attribute("data-keeps-input")) {
                return;
            }
            if let Some(form) = find_target(event).filter(|form| form.has_attribute("data-guarded")) {
                let _ = form.remove_attribute(CHANGED);
                let _ = form.set_attribute(SUBMITTED, "");
            }
        });
        listen(&document, "click", |event| {
            let is_followed =
                !event.default_prevented() && event.dyn_ref::<MouseEvent>().is_some_and(is_plain);
            let address = if is_followed { find_address(event) } else { None };
            if address.is_some_and(|address| !confirm_leave(&address)) {
                event.prevent_default();
                event.stop_propagation();
            }
        });
        listen(&window, "beforeunload", |event| {
            if has_unsaved_input() {
                event.prevent_default();
            }
        });
    }

    /// The submission of the form with this alert failed: what was typed is still not saved. Other forms may wait for their results.
    pub fn note_failed_submission(alert: &Element) {
        let form = alert.closest(&format!("form[data-guarded][{SUBMITTED}]")).ok().flatten();
        if let Some(form) = form {
            let _ = form.remove_attribute(SUBMITTED);
            let _ = form.set_attribute(CHANGED, "");
        }
    }

    /// Gives the fields of a form the values with which it was rendered, unless something was entered since its submission.
    pub fn clear_form(form: &HtmlFormElement) {
        if !form.has_attribute(CHANGED) {
            form.reset();
        }
    }

    /// Whether the page may be left for this address of the console: nothing would be lost, or the person says so.
    pub fn confirm_leave(address: &str) -> bool {
        let Some(window) = web_sys::window() else { return true };
        let (path, query) = (window.location().pathname(), window.location().search());
        let here = format!("{}{}", path.unwrap_or_default(), query.unwrap_or_default());
        if !is_other_page(&here, address) || !has_unsaved_input() {
            return true;
        }
        window.confirm_with_message(QUESTION).unwrap_or(true)
    }

    fn has_unsaved_input() -> bool {
        select_changed_forms().iter().any(has_typed_input)
    }

    /// The guarded forms with input since they were rendered or submitted.
    fn select_changed_forms() -> Vec<HtmlFormElement> {
        let document = web_sys::window().and_then(|window| window.document());
        let selector = format!("form[data-guarded][{CHANGED}]");
        let Some(found) = document.and_then(|document| document.query_selector_all(&selector).ok()) else {
            return Vec::new();
        };
        (0..found.length()).filter_map(|at| found.item(at)?.dyn_into().ok()).collect()
    }

    /// Listens while the event is captured, before the router follows a link.
    fn listen(target: &EventTarget, kind: &str, react: impl Fn(&Event) + 'static) {
        let listener = Closure::<dyn Fn(Event)>::new(move |event: Event| react(&event));
        let call = listener.as_ref().unchecked_ref();
        let _ = target.add_event_listener_with_callback_and_bool(kind, call, true);
        listener.forget();
    }

    fn find_target(event: &Event) -> Option<Element> {
        event.target()?.dyn_into().ok()
    }

    /// Whether the browser follows a clicked link in this tab.
    fn is_plain(event: &MouseEvent) -> bool {
        let has_modifier = event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key();
        event.button() == 0 && !has_modifier
    }

    /// The address of a clicked link that the router follows. Others end the document, which asks for itself.
    fn find_address(event: &Event) -> Option<String> {
        let link = find_target(event)?.closest("a[href]").ok()??.dyn_into::<HtmlAnchorElement>().ok()?;
        let origin = web_sys::window()?.location().origin().ok()?;
        let is_followed = link.origin() == origin
            && link.target().is_empty()
            && !link.has_attribute("download")
            && link.get_attribute("rel").is_none_or(|rel| !rel.contains("external"));
        is_followed.then(|| format!("{}{}", link.pathname(), link.search()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_path_or_another_tab_is_another_page() {
        assert!(is_other_page("/charts", "/"));
        assert!(is_other_page("/clusters/eu-1", "/clusters/eu-2"));
        assert!(is_other_page("/settings?tab=project", "/settings"));
        assert!(is_other_page("/settings?tab=project", "/settings?tab=about"));
        for same in ["/charts", "/charts#repositories", "/charts?dialog=remove-repository&name=web"] {
            assert!(!is_other_page("/charts", same), "{same}");
        }
        assert!(!is_other_page("/settings?tab=notifications", "/settings?delete=ops&tab=notifications"));
    }
}
