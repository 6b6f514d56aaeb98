//! Text with a copy button, such as the command line of what a page does (S0-3).

use leptos::ev::MouseEvent;
use leptos::prelude::*;

use super::icon::icon;
use crate::live;

/// What a button does that copies a text, and whether it has copied it: not where the browser has no clipboard.
fn copy_action(text: String) -> (RwSignal<bool>, impl Fn(MouseEvent) + 'static) {
    let copied = RwSignal::new(false);
    let copy = move |_: MouseEvent| copied.set(live::page::copy_text(&text));
    (copied, copy)
}

/// The icon of the button.
fn copy_icon(is_copied: bool) -> impl IntoView {
    icon(if is_copied { "check" } else { "copy" })
}

/// One line of code with a button that copies it. Without script the line can be selected and copied.
#[component]
pub fn CopyLine(
    /// The line.
    #[prop(into)]
    line: String,
) -> impl IntoView {
    let (copied, copy) = copy_action(line.clone());
    let button_label = move || if copied.get() { "Copied" } else { "Copy" };
    view! {
        <div class="copy">
            <code>{line}</code>
            <button class="btn btn-sm btn-icon" type="button" aria-label=button_label on:click=copy>
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
    let label = move || if copied.get() { "Copied" } else { label };
    view! {
        <button class="btn btn-sm btn-icon btn-quiet noscript:hidden" type="button" aria-label=label on:click=copy>
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
    let button_label = move || if copied.get() { "Copied" } else { "Copy" };
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
    let button_label = move || if copied.get() { "Copied" } else { "Copy all" };
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
