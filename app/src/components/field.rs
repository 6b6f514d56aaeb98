//! Small parts of forms: search field, disabled button with its reason, banner.

use leptos::prelude::*;

use super::icon::{icon, icon_sized};
use super::status::StatusStyle;

/// The search field of a list. `/` focuses it; without script Enter submits the form.
pub fn search_field(name: &'static str, label: &'static str, value: String) -> impl IntoView {
    view! {
        <label class="search">
            {icon("search")}
            <input type="search" name=name value=value placeholder=label aria-label=label data-search="" autocomplete="off" />
            <kbd class="key">"/"</kbd>
        </label>
    }
}

/// The field of a list for a label selector.
pub fn labels_field(value: String, example: &'static str) -> impl IntoView {
    view! {
        <input
            class="input input-mono sm:max-w-72"
            type="search"
            name="labels"
            value=value
            placeholder=example
            aria-label="Labels"
            autocomplete="off"
        />
    }
}

/// Why a button is disabled, displayed beside it.
#[component]
pub fn DisabledReason(
    /// Id, for `aria-describedby`.
    id: &'static str,
    /// Icon and hue.
    look: StatusStyle,
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

/// A disabled button with its reason. It stays focusable, so that screen readers read the reason.
#[component]
pub fn DisabledButton(
    /// The button's label.
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
            <DisabledReason id=id look=StatusStyle { icon: "lock", hue: "hue-unknown", emphasis: "state-quiet" }>
                {why}
            </DisabledReason>
        </span>
    }
    .into_any()
}

/// A banner: one line that needs attention.
#[component]
pub fn Banner(
    /// Icon and hue.
    look: StatusStyle,
    /// The text, and then the actions.
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
