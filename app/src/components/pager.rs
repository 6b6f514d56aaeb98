//! The foot of a list that goes on: keyset pages, so no page numbers.

use leptos::prelude::*;

/// How many are shown of how many, back to the start, on to the next page.
#[component]
pub fn Pager(
    /// Shown on this page.
    shown: usize,
    /// In all with this filter.
    total: u32,
    /// What they are called.
    noun: &'static str,
    /// Address of the first page; `None` on it.
    first: Option<String>,
    /// Address of the next page; `None` on the last.
    next: Option<String>,
) -> impl IntoView {
    let total = if total > 10_000 { "10 000+".to_owned() } else { total.to_string() };
    view! {
        <nav class="table-foot" aria-label="Pages">
            <span>{format!("{shown} of {total} {noun}")}</span>
            <span class="flex gap-4">
                {first.map(|href| view! { <a class="link" href=href>"Back to the start"</a> })}
                {next.map(|href| view! { <a class="link" href=href rel="next">"Next page"</a> })}
            </span>
        </nav>
    }
    .into_any()
}
