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

/// A later page of a list with nothing on it: its items are on an earlier page now, or not in the list any more. The list itself need not be
/// empty.
#[component]
pub fn EmptyPage(
    /// Address of the first page.
    first: String,
) -> impl IntoView {
    view! {
        <Empty title="Nothing is on this page any more" text="What was on it is on an earlier page, or not in the list any more.">
            <a class="btn" href=first>
                "Back to the start"
            </a>
        </Empty>
    }
    .into_any()
}
