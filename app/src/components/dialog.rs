//! Confirmation of a destructive action, in a native `<dialog>`.
//!
//! The address holds whether it is open (`?dialog=delete`). Without script the dialog is part of the page; with script it is
//! modal, and Esc or Cancel go back.

use leptos::html::Dialog;
use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::errors::AppError;
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
    let leave = move |_| {
        navigate(&back, NavigateOptions { scroll: false, replace: true, ..Default::default() });
        live::page::focus_content_if_lost();
    };
    let view = view! {
        <dialog class="dialog" node_ref=dialog aria-labelledby="question" on:close=leave>
            <h2 id="question" class="dialog-title">
                {title}
            </h2>
            {children()}
        </dialog>
    };
    // In the browser only the effect opens it: it is never displayed without being modal, and an update of the page that
    // contains it does not close it.
    #[cfg(not(feature = "hydrate"))]
    let view = view.add_any_attr(leptos::attr::open(true));
    view.into_any()
}

/// Cancel, which leads back, and the button that does it.
pub fn dialog_buttons(back: String, verb: &'static str, class: &'static str) -> impl IntoView {
    dialog_buttons_when(back, verb, class, Signal::stored(true))
}

/// The same; with script the button is disabled while `is_confirmed` is false. Without script the server checks it.
fn dialog_buttons_when(
    back: String,
    verb: &'static str,
    class: &'static str,
    is_confirmed: Signal<bool>,
) -> impl IntoView {
    view! {
        <div class="dialog-actions">
            <a class="btn" href=back>
                "Cancel"
            </a>
            <button class=class type="submit" prop:disabled=move || !is_confirmed.get()>
                {verb}
            </button>
        </div>
    }
}

/// Body and buttons of a dialog that asks for the name of what the page shows before it is deleted: the form's field is
/// `confirmed_name`. From the submission until the next page, or the error, the page is not read again.
pub fn confirmed_deletion<A>(
    name: &str,
    back: String,
    action: ServerAction<A>,
    body: impl IntoView + 'static,
) -> impl IntoView
where
    A: ServerFn<Output = (), Error = AppError> + Clone + Send + Sync + 'static,
{
    live::hold_while(move || {
        action.pending().get() || action.value().with(|result| matches!(result, Some(Ok(()))))
    });
    let (name, expected) = (name.to_owned(), StoredValue::new(name.to_owned()));
    let typed = RwSignal::new(String::new());
    let is_confirmed = Signal::derive(move || expected.with_value(|name| typed.with(|typed| typed == name)));
    view! {
        <div class="dialog-body">
            {body}
            <div class="field">
                <label class="field-label" for="confirmed_name">
                    "Type "
                    <b class="name">{name}</b>
                    " to confirm"
                </label>
                <input
                    class="input input-mono"
                    id="confirmed_name"
                    name="confirmed_name"
                    required=true
                    autocomplete="off"
                    autocapitalize="off"
                    spellcheck="false"
                    on:input=move |event| typed.set(event_target_value(&event))
                />
            </div>
        </div>
        {dialog_buttons_when(back, "Delete", "btn btn-danger-solid", is_confirmed)}
    }
}
