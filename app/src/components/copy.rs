//! Everything the console does, the command line does too: the line, ready to copy (S0-3).

use leptos::prelude::*;

use super::icon;
use crate::live;

/// One line of code with a button that copies it. Without script the line can be marked and copied by hand.
#[component]
pub fn CopyLine(
    /// The line.
    #[prop(into)]
    line: String,
) -> impl IntoView {
    let copied = RwSignal::new(false);
    let text = line.clone();
    let copy = move |_| {
        live::page::copy(&text);
        copied.set(true);
    };
    let said = move || if copied.get() { "Copied" } else { "Copy" };
    view! {
        <div class="copy">
            <code>{line}</code>
            <button class="btn btn-sm btn-icon" type="button" aria-label=said on:click=copy>
                {move || if copied.get() { icon("check").into_any() } else { icon("copy").into_any() }}
            </button>
        </div>
    }
    .into_any()
}
