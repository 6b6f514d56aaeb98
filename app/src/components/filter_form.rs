//! A form that filters a list: its values become the query of the address.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::live;
use crate::paths;

/// A form with the method GET. In the browser empty fields are left out of the address.
#[component]
pub fn FilterForm(
    /// The path of the page.
    #[prop(into)]
    action: String,
    /// The fields.
    children: Children,
) -> impl IntoView {
    let navigate = use_navigate();
    let path = action.clone();
    let submit = move |event: SubmitEvent| {
        if let Some(values) = live::page::form_values(&event) {
            event.prevent_default();
            let pairs: Vec<(&str, &str)> =
                values.iter().map(|(name, value)| (name.as_str(), value.trim())).collect();
            navigate(&paths::query(&path, &pairs), NavigateOptions::default());
        }
    };
    view! {
        <form method="get" action=action on:submit=submit>
            {children()}
        </form>
    }
}
