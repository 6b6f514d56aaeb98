//! A form that filters a list: its values become the query of the address.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leptos::ev::SubmitEvent;
use leptos::html::Form;
use leptos::prelude::*;
use leptos::web_sys::Event;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use crate::live;
use crate::paths;

/// Pause in typing after which the text is applied.
const PAUSE: Duration = Duration::from_millis(300);

/// A form with the method GET. In the browser empty fields are left out of the address, and a change is applied without the button: that of
/// the field `q` while a person types, that of another field once it is left, because what is typed until then may not be valid. The fields
/// follow the address, which a link like "Show all" changes: the next change would filter by what they show.
#[component]
pub fn FilterForm(
    /// The path of the page.
    #[prop(into)]
    action: String,
    /// Whether a change is applied only by the button, or by Enter.
    #[prop(optional)]
    submit_only: bool,
    /// The fields.
    children: Children,
) -> impl IntoView {
    let navigate = use_navigate();
    let path = action.clone();
    // What is applied while a person types is one entry in the history.
    let is_typed = Arc::new(AtomicBool::new(false));
    let was_typed = is_typed.clone();
    let submit = move |event: SubmitEvent| {
        if let Some(values) = live::page::form_values(&event) {
            event.prevent_default();
            let pairs: Vec<(&str, &str)> =
                values.iter().map(|(name, value)| (name.as_str(), value.trim())).collect();
            let replace = was_typed.load(Ordering::Relaxed);
            let options = NavigateOptions { replace, scroll: !replace, ..NavigateOptions::default() };
            navigate(&paths::query(&path, &pairs), options);
        }
    };
    let apply = move |event: Event| {
        is_typed.store(true, Ordering::Relaxed);
        live::form::submit_form_of(&event);
        is_typed.store(false, Ordering::Relaxed);
    };
    let mut apply_later = debounce(PAUSE, apply.clone());
    let typed = move |event: Event| {
        if !submit_only && live::form::is_search_event(&event) {
            apply_later(event);
        }
    };
    // Also of the search, which may be left before the pause is over.
    let changed = move |event: Event| {
        if !submit_only {
            apply(event);
        }
    };
    let form = NodeRef::<Form>::new();
    if !submit_only {
        follow_address(form, action.clone());
    }
    view! {
        <form node_ref=form method="get" action=action data-live=(!submit_only).then_some("") on:submit=submit on:input=typed on:change=changed>
            {children()}
        </form>
    }
}

/// Shows the query of the address in the fields when it has changed, as long as the address is that of this page.
fn follow_address(form: NodeRef<Form>, page: String) {
    let location = use_location();
    Effect::new(move |former: Option<()>| {
        let query = location.query.get();
        let is_changed = former.is_some() && location.pathname.with_untracked(|path| *path == page);
        if is_changed && let Some(form) = form.try_get_untracked().flatten() {
            live::form::show_values(&form, |name| query.get(name).unwrap_or_default());
        }
    });
}
