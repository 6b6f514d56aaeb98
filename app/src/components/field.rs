//! Small parts of forms: search, the reason beside a disabled button, a line that needs a look.

use leptos::prelude::*;

use super::{Look, icon, icon_sized};

/// The search field of a list. `/` puts the cursor there; without script the form is sent with Enter.
pub fn search_field(name: &'static str, label: &'static str, value: String) -> impl IntoView {
    view! {
        <label class="search">
            {icon("search")}
            <input type="search" name=name value=value placeholder=label aria-label=label data-search="" autocomplete="off" />
            <kbd class="key">"/"</kbd>
        </label>
    }
}

/// Why a button is off, beside it.
#[component]
pub fn Reason(
    /// Id, for `aria-describedby`.
    id: &'static str,
    /// Icon and hue.
    look: Look,
    /// The sentence.
    children: Children,
) -> impl IntoView {
    view! {
        <span class=format!("reason {}", look.hue) id=id>
            {icon(look.icon)}
            <span>{children()}</span>
        </span>
    }
    .into_any()
}

/// A button that is off and says why: it stays focusable, so that the reason can be heard.
#[component]
pub fn Refusal(
    /// The verb.
    verb: String,
    /// Why not.
    why: String,
    /// Id for the reason.
    id: &'static str,
) -> impl IntoView {
    view! {
        <span class="flex flex-wrap items-center gap-2">
            <button class="btn" type="button" aria-disabled="true" aria-describedby=id>
                {verb}
            </button>
            <Reason id=id look=Look { icon: "lock", hue: "hue-unknown", loud: "state-quiet" }>
                {why}
            </Reason>
        </span>
    }
    .into_any()
}

/// One line that needs a look.
#[component]
pub fn Banner(
    /// Icon and hue.
    look: Look,
    /// What it says; at its end, what can be done.
    children: Children,
) -> impl IntoView {
    view! {
        <div class=format!("banner {}", look.hue) role="status">
            {icon_sized(look.icon, "icon icon-16")}
            {children()}
        </div>
    }
    .into_any()
}
