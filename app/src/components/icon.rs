//! Icons of the sprite.

use leptos::prelude::*;

/// An icon of the sprite, 16 px drawn at 14. A word stands beside it, so it is hidden from screen readers.
pub fn icon(name: &'static str) -> impl IntoView {
    icon_sized(name, "icon")
}

/// The same at another size: `icon icon-16` in lists of errors, `icon icon-18` on a phone.
pub fn icon_sized(name: &'static str, class: &'static str) -> impl IntoView {
    view! {
        <svg class=class aria-hidden="true">
            <use href=format!("/icons.svg#{name}") />
        </svg>
    }
}
