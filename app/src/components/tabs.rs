//! The tabs of a page: links, of which the current one is in sight also where the row scrolls, as on a phone.

use leptos::html::Nav;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

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

/// What is shown in place of a tab that the page does not have. The page has the status 404.
#[component]
pub fn UnknownTab(
    /// The address of the first tab.
    first: String,
) -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(http::StatusCode::NOT_FOUND);
    }
    let slug = use_query_map().read_untracked().get("tab").unwrap_or_default();
    view! {
        <section class="empty" role="alert">
            <h2>{format!("There is no tab {slug:?} on this page")}</h2>
            <p>"The address is misspelt, or it is that of an older version. Choose one of the tabs above."</p>
            <div class="empty-actions">
                <a class="btn" href=first>
                    "First tab"
                </a>
            </div>
        </section>
    }
    .into_any()
}
