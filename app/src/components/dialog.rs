//! A question before something that matters, in a native `<dialog>`.
//!
//! Whether it is open stands in the address (`?ask=delete`): without script it is part of the page, with script it is
//! shown above it, and Esc or Cancel lead back.

use leptos::html::Dialog;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::live;

/// The question: title with the count, body with what goes and what stays, buttons in the form.
#[component]
pub fn Question(
    /// The question.
    #[prop(into)]
    title: String,
    /// The address without the question.
    back: String,
    /// Body and buttons.
    children: Children,
) -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get() {
            live::page::raise(&dialog);
        }
    });
    let navigate = use_navigate();
    let leave =
        move |_| navigate(&back, NavigateOptions { scroll: false, replace: true, ..Default::default() });
    view! {
        <dialog class="dialog" open=true node_ref=dialog aria-labelledby="question" on:close=leave>
            <h2 id="question" class="dialog-title">
                {title}
            </h2>
            {children()}
        </dialog>
    }
    .into_any()
}
