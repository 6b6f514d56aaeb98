//! Text with a copy button, such as the command line of what a page does (S0-3).

use leptos::ev::MouseEvent;
use leptos::prelude::*;

use super::icon::icon;
use crate::live;

/// Whether a button has copied its text: `None` before it was pressed, false where the browser has no clipboard.
type Copied = RwSignal<Option<bool>>;

/// What a button does that copies a text, and whether it has copied it.
fn copy_action(text: String) -> (Copied, impl Fn(MouseEvent) + 'static) {
    let copied = RwSignal::new(None);
    let copy = move |_: MouseEvent| copied.set(Some(live::page::copy_text(&text)));
    (copied, copy)
}

/// The label of the button, which is `label` before it is pressed.
const fn copy_label(copied: Option<bool>, label: &'static str) -> &'static str {
    match copied {
        None => label,
        Some(true) => "Copied",
        Some(false) => "Not copied: the browser has no clipboard here",
    }
}

/// The icon of the button.
fn copy_icon(copied: Option<bool>) -> impl IntoView {
    icon(match copied {
        None => "copy",
        Some(true) => "check",
        Some(false) => "close",
    })
}

/// One line of code with a button that copies it. Without script the line can be selected and copied.
#[component]
pub fn CopyLine(
    /// The line.
    #[prop(into)]
    line: String,
) -> impl IntoView {
    let (copied, copy) = copy_action(line.clone());
    let button_label = move || copy_label(copied.get(), "Copy");
    view! {
        <div class="copy">
            <code>{line}</code>
            <button class="btn btn-sm btn-icon" type="button" aria-label=button_label title=button_label on:click=copy>
                {move || copy_icon(copied.get())}
            </button>
        </div>
    }
    .into_any()
}

/// A button beside a shortened value that copies the whole one. Without script there is none.
#[component]
pub fn CopyButton(
    /// What is copied.
    text: String,
    /// Accessible name.
    label: &'static str,
) -> impl IntoView {
    let (copied, copy) = copy_action(text);
    let label = move || copy_label(copied.get(), label);
    view! {
        <button class="btn btn-sm btn-icon btn-quiet noscript:hidden" type="button" aria-label=label title=label on:click=copy>
            {move || copy_icon(copied.get())}
        </button>
    }
    .into_any()
}

/// One line with a secret in it, of which only the start is visible. It is copied, and selected, in full.
#[component]
pub fn CopySecretLine(
    /// What is before the secret.
    before: String,
    /// The secret.
    secret: String,
    /// What is after it.
    after: String,
) -> impl IntoView {
    let (copied, copy) = copy_action(format!("{before}{secret}{after}"));
    let button_label = move || copy_label(copied.get(), "Copy");
    view! {
        <div class="copy">
            <code>{before}<span class="secret" title="hidden here, copied in full">{secret}</span>{after}</code>
            <button class="btn btn-sm" type="button" on:click=copy>
                {move || copy_icon(copied.get())}
                {button_label}
            </button>
        </div>
    }
    .into_any()
}

/// Many lines with a button that copies them; long ones scroll inside.
#[component]
pub fn CopyBlock(
    /// The text.
    #[prop(into)]
    text: String,
    /// Accessible name of the text.
    #[prop(into)]
    label: String,
) -> impl IntoView {
    let (copied, copy) = copy_action(text.clone());
    let button_label = move || copy_label(copied.get(), "Copy all");
    view! {
        <div class="stack-sm">
            <div>
                <button class="btn btn-sm" type="button" on:click=copy>
                    {move || copy_icon(copied.get())}
                    {button_label}
                </button>
            </div>
            // A scrollable region must be reachable by keyboard.
            <pre class="raw max-h-96 overflow-auto" tabindex="0" role="region" aria-label=label>
                {text}
            </pre>
        </div>
    }
    .into_any()
}
