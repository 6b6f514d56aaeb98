//! The event log as a list: time, icon and words of each entry, under the day. The events of an entry can be opened.

use domain::Timestamp;
use leptos::prelude::*;

use super::names::link_names;
use super::{EventSummary, FeedEntry, event_style};
use crate::components::age::{format_time_of_day, format_utc};
use crate::components::{icon_sized, pluralize};

/// Entries, newest first.
#[component]
pub fn EventLog(
    /// The entries.
    entries: Vec<FeedEntry>,
    /// The server's time.
    at: Timestamp,
    /// Whether all are about the workload of the page, which is then not named.
    #[prop(optional)]
    of_workload: bool,
) -> impl IntoView {
    let mut days: Vec<(String, Vec<FeedEntry>)> = Vec::new();
    for entry in entries {
        let day = date_of(entry.at);
        match days.last_mut() {
            Some((last, entries)) if *last == day => entries.push(entry),
            _ => days.push((day, vec![entry])),
        }
    }
    let section = move |(day, entries): (String, Vec<FeedEntry>)| {
        let id = format!("day-{day}");
        view! {
            <section class="stack-sm" aria-labelledby=id.clone()>
                <h2 class="section" id=id.clone()>
                    {name_day(&day, at)}
                    <span class="text-3 font-normal">{format!(" {day} UTC")}</span>
                </h2>
                <ol class="events">{entries.into_iter().map(|entry| entry_row(entry, of_workload)).collect_view()}</ol>
            </section>
        }
    };
    view! { <div class="stack">{days.into_iter().map(section).collect_view()}</div> }.into_any()
}

/// `2026-11-24`.
fn date_of(at: Timestamp) -> String {
    format_utc(at).split(' ').next().unwrap_or_default().to_owned()
}

fn name_day(day: &str, now: Timestamp) -> &'static str {
    const DAY_MILLIS: i64 = 86_400_000;
    match day {
        day if day == date_of(now) => "Today",
        day if day == date_of(now.plus_millis(-DAY_MILLIS)) => "Yesterday",
        _ => "",
    }
}

fn entry_row(entry: FeedEntry, of_workload: bool) -> AnyView {
    let FeedEntry { event, at, subject, clusters, text, detail, names, steps } = entry;
    let look = event_style(&event);
    let is_named = !of_workload || event.subject != subject;
    let named = (is_named && !subject.is_empty())
        .then(|| view! { <a class="name strong ref" href=event.href.clone()>{subject}</a> });
    let place = (!clusters.is_empty()).then(|| {
        let on = if named.is_some() { " on " } else { "" };
        view! { {on} {link_names(&clusters, &names)} ": " }
    });
    let text = if named.is_none() && place.is_none() { begin_sentence(&text) } else { text };
    let detail = (!detail.is_empty()).then(|| {
        view! { <span class="meta event-detail">{link_names(&detail, &names)}</span> }
    });
    view! {
        <li class=format!("event {}", look.hue)>
            {time(at)}
            {icon_sized(look.icon, "icon icon-16")}
            <div class="event-main">
                <span class="event-words">{named} {place} " " {link_names(&text, &names)}</span>
                " "
                {detail}
            </div>
            {(!steps.is_empty()).then(|| step_list(steps, &names))}
        </li>
    }
    .into_any()
}

/// `was edited` without a subject: `Edited`.
fn begin_sentence(text: &str) -> String {
    let rest = ["was ", "is "].iter().find_map(|verb| text.strip_prefix(verb)).unwrap_or(text);
    // A revision is written in lower case.
    if rest.strip_prefix('r').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit())) {
        return rest.to_owned();
    }
    let mut chars = rest.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The events of an entry, on demand.
fn step_list(steps: Vec<EventSummary>, names: &[(String, String)]) -> AnyView {
    let count = pluralize(u32::try_from(steps.len()).unwrap_or(u32::MAX), "event");
    let step = |step: EventSummary| {
        let look = event_style(&step);
        view! {
            <li class=format!("event {}", look.hue)>
                {time(step.at)}
                {icon_sized(look.icon, "icon")}
                <span class="event-main">{link_names(&step.message, names)}</span>
            </li>
        }
    };
    view! {
        <details class="event-steps">
            <summary>{count}</summary>
            <ol>{steps.into_iter().map(step).collect_view()}</ol>
        </details>
    }
    .into_any()
}

fn time(at: Timestamp) -> AnyView {
    view! { <time class="event-time" datetime=at.to_string() title=format_utc(at)>{format_time_of_day(at)}</time> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_subject_begins_as_a_sentence() {
        assert_eq!(begin_sentence("was edited"), "Edited");
        assert_eq!(begin_sentence("is placed on 2 of 5 clusters"), "Placed on 2 of 5 clusters");
        assert_eq!(begin_sentence("r2 published"), "r2 published");
        assert_eq!(
            begin_sentence("revision 2: the rollout is completed"),
            "Revision 2: the rollout is completed"
        );
    }

    #[test]
    fn the_current_day_and_the_one_before_have_names() {
        let now = Timestamp::from_millis(1_763_665_200_123);
        assert_eq!(name_day("2025-11-20", now), "Today");
        assert_eq!(name_day("2025-11-19", now), "Yesterday");
        assert_eq!(name_day("2025-11-18", now), "");
    }
}
