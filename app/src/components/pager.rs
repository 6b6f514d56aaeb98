//! The pager of a list: keyset pagination, so there are no page numbers.

use leptos::prelude::*;

/// The number shown and the total, a link to the first page, a link to the next page.
#[component]
pub fn Pager(
    /// Number of items on this page.
    shown: usize,
    /// Number of all items with this filter.
    total: u32,
    /// Plural noun of the items.
    noun: &'static str,
    /// Address of the first page; `None` on it.
    first: Option<String>,
    /// Address of the next page; `None` on the last.
    next: Option<String>,
) -> impl IntoView {
    let total = if total > 10_000 { "10 000+".to_owned() } else { total.to_string() };
    view! {
        <nav class="table-foot" aria-label=format!("Pages of {noun}")>
            <span>{format!("{shown} of {total} {noun}")}</span>
            <span class="flex gap-4">
                {first.map(|href| view! { <a class="link" href=href>"Back to the start"</a> })}
                {next.map(|href| view! { <a class="link" href=href rel="next">"Next page"</a> })}
            </span>
        </nav>
    }
    .into_any()
}
