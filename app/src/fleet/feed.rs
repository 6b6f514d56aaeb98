//! The recent changes of the fleet: one line per change, repetitions on several clusters folded into one.

use domain::Timestamp;
#[cfg(feature = "ssr")]
use domain::event::{Event, EventKind};
use leptos::prelude::*;

use crate::components::{Age, icon_sized};
use crate::events::{FeedEntry, event_style};
use crate::paths;

/// Most entries of the feed.
#[cfg(feature = "ssr")]
const MAX_ENTRIES: usize = 10;

/// The newest changes, without decisions of the placement, which follow from them.
#[cfg(feature = "ssr")]
pub fn list_recent(events: &[Event]) -> Vec<FeedEntry> {
    let is_consequence = |entry: &FeedEntry| {
        entry.event.kind == EventKind::PlacementDecided && entry.event.severity == domain::Severity::Note
    };
    crate::events::fold_events(events)
        .into_iter()
        .filter(|entry| !is_consequence(entry))
        .take(MAX_ENTRIES)
        .collect()
}

/// The section with the recent changes.
#[component]
pub fn RecentChanges(entries: Vec<FeedEntry>, at: Timestamp) -> impl IntoView {
    let none = entries.is_empty().then(|| view! { <p class="text-3">"Nothing has happened yet."</p> });
    let row = |entry: FeedEntry| {
        let detail = entry.whole_detail();
        let FeedEntry { event, at: since, subject, text, .. } = entry;
        let look = event_style(&event);
        let subject = (!subject.is_empty()).then(|| view! { <b class="name strong">{subject}</b> " " });
        view! {
            <a class=format!("list-row items-start py-2 {}", look.hue) href=event.href>
                {icon_sized(look.icon, "icon icon-16")}
                <span class="grid min-w-0">
                    <span class="text-ink">{subject} {text}</span>
                    {(!detail.is_empty()).then(|| view! { <span class="meta line-clamp-2" title=detail.clone()>{detail.clone()}</span> })}
                </span>
                <span class="list-end meta">
                    <Age since=since at=at />
                </span>
            </a>
        }
    };
    view! {
        <section class="stack-sm" aria-labelledby="recent">
            <div class="flex items-baseline justify-between">
                <h2 class="section" id="recent">
                    "Recent changes"
                </h2>
                <a class="link meta" href=paths::EVENTS>
                    "All events"
                </a>
            </div>
            {none}
            <div class="list">{entries.into_iter().map(row).collect_view()}</div>
        </section>
    }
    .into_any()
}
