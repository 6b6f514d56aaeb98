//! An empty list: what it means and the next step, with a command to copy.

use leptos::prelude::*;

use super::copy::CopyLine;

/// An empty list.
#[component]
pub fn Empty(
    /// The heading.
    #[prop(into)]
    title: String,
    /// What it means, in a sentence.
    #[prop(into)]
    text: String,
    /// The equivalent command; may be empty.
    #[prop(into, default = String::new())]
    command: String,
    /// The next step.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <section class="empty">
            <h2>{title}</h2>
            <p>{text}</p>
            {children.map(|children| view! { <div class="empty-actions">{children()}</div> })}
            {(!command.is_empty()).then(|| view! { <CopyLine line=command /> })}
        </section>
    }
    .into_any()
}
