//! Confirmation of a destructive action, in a native `<dialog>`.
//!
//! The address holds whether it is open (`?dialog=delete`). Without script the dialog is part of the page; with script it is
//! modal, and Esc or Cancel go back.

use leptos::html::Dialog;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::live;

/// The dialog: title with the count, body with what is deleted and what is retained, buttons in the form.
#[component]
pub fn ConfirmDialog(
    /// The title.
    #[prop(into)]
    title: String,
    /// The address without the dialog.
    back: String,
    /// Body and buttons.
    children: Children,
) -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get() {
            live::page::show_modal(&dialog);
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
