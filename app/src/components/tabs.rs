//! The tabs of a page: links, of which the current one is in sight also where the row scrolls, as on a phone.

use leptos::html::Nav;
use leptos::prelude::*;

use crate::live;

/// A row of tabs, whose links are the children.
#[component]
pub fn PageTabs(
    /// What the tabs are parts of.
    label: &'static str,
    /// The name of the current tab.
    #[prop(into)]
    current: Signal<&'static str>,
    /// The links; the current one has `aria-current="page"`.
    children: Children,
) -> impl IntoView {
    let row = NodeRef::<Nav>::new();
    Effect::new(move |_| {
        current.track();
        live::page::show_current_tab(row);
    });
    view! {
        <nav class="tabs" aria-label=label node_ref=row>
            {children()}
        </nav>
    }
    .into_any()
}
