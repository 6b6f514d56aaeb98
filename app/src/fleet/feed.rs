//! The recent changes of the fleet: one line per change, repetitions on several clusters folded into one.

use domain::Timestamp;
#[cfg(feature = "ssr")]
use domain::event::{Event, EventKind};
use leptos::prelude::*;

use crate::components::{Age, icon_sized};
#[cfg(feature = "ssr")]
use crate::events::EventSummary;
use crate::events::{FeedEntry, event_style};
use crate::paths;

/// Most entries of the feed.
#[cfg(feature = "ssr")]
const MAX_ENTRIES: usize = 10;

/// Events read to find them: most are the progress of releases.
#[cfg(feature = "ssr")]
pub const EVENTS_READ: u32 = 200;

/// The newest changes. Events are folded first: the progress of its releases is the outcome of a publish.
#[cfg(feature = "ssr")]
pub fn list_recent(events: &[Event]) -> Vec<FeedEntry> {
    crate::events::fold_events(events)
        .into_iter()
        .filter(|entry| !is_omitted(entry))
        .take(MAX_ENTRIES)
        .collect()
}

/// Whether an entry is no change: only the progress of releases, a decision of the placement, which follows from a change, or an
/// incident, which is among what needs attention.
#[cfg(feature = "ssr")]
fn is_omitted(entry: &FeedEntry) -> bool {
    use domain::Severity;
    let is_progress = |event: &EventSummary| {
        let kind = matches!(event.kind, EventKind::ReleaseChanged | EventKind::PlacementDecided);
        kind && event.severity == Severity::Note
    };
    if entry.event.kind == EventKind::IncidentOpened {
        return true;
    }
    if entry.steps.is_empty() { is_progress(&entry.event) } else { entry.steps.iter().all(is_progress) }
}

/// The section with the recent changes.
#[component]
pub fn RecentChanges(
    entries: Vec<FeedEntry>,
    /// Whether there are events: a publish to many clusters is older than the latest ones, which are its progress.
    has_events: bool,
    at: Timestamp,
) -> impl IntoView {
    let text = if has_events { "No change is among the latest events." } else { "Nothing has happened yet." };
    let none = entries.is_empty().then(|| view! { <p class="text-3">{text}</p> });
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

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(seconds: i64, kind: &str, severity: &str, cluster: &str, detail: Value) -> Event {
        let mut event = json!({
            "seq": seconds, "at": Timestamp::from_millis(seconds * 1_000).to_string(), "kind": kind,
            "severity": severity, "actor": "flotilla", "workloadName": "shop", "clusterName": cluster,
            "message": "shop changed.",
        });
        if !detail.is_null() {
            event["detail"] = detail;
        }
        serde_json::from_value(event).unwrap()
    }

    fn progress(seconds: i64, cluster: &str, from: &str, to: &str) -> Event {
        let detail = json!({"type": "releaseState", "from": from, "to": to});
        event(seconds, "releaseChanged", "note", cluster, detail)
    }

    fn published(seconds: i64) -> Event {
        let detail = json!({"type": "published", "revision": 1, "message": ""});
        event(seconds, "workloadPublished", "note", "", detail)
    }

    #[test]
    fn a_publish_shows_its_outcome_and_no_progress_of_its_own() {
        let events = [
            progress(9, "eu-1", "Progressing", "Healthy"),
            progress(3, "eu-1", "Queued", "Progressing"),
            published(1),
        ];
        let entries = list_recent(&events);
        assert_eq!(entries.len(), 1, "{entries:?}");
        let style = event_style(&entries[0].event);
        assert_eq!((style.icon, style.hue), ("healthy", "hue-healthy"));
        assert_eq!(entries[0].detail, "healthy on 1 cluster after 8 s");
    }

    #[test]
    fn a_publish_without_a_reported_outcome_shows_no_state() {
        let style = event_style(&list_recent(&[published(1)])[0].event);
        assert_eq!((style.icon, style.hue), ("upload", "hue-unknown"));
    }

    #[test]
    fn a_list_without_changes_does_not_say_that_nothing_has_happened() {
        let render = |has_events: bool| {
            let at = Timestamp::default();
            crate::render_tests::render_html(
                move || view! { <RecentChanges entries=Vec::new() has_events=has_events at=at /> },
            )
        };
        assert!(render(true).contains("No change is among the latest events."));
        assert!(render(false).contains("Nothing has happened yet."));
    }

    #[test]
    fn progress_and_open_incidents_are_no_changes() {
        let events =
            [event(9, "incidentOpened", "error", "", Value::Null), progress(5, "eu-1", "Pending", "Healthy")];
        let entries = list_recent(&events);
        assert!(entries.is_empty(), "{entries:?}");
    }
}
