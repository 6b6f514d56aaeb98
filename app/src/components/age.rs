//! Ages in short form, with the absolute time in the title. Computed with the server's clock, never the browser's.

use domain::Timestamp;
use leptos::prelude::*;

use crate::live;

/// `5 min`, and the absolute time in the title. Updated while the page is open.
#[component]
pub fn Age(
    /// The start.
    since: Timestamp,
    /// The server's time when the page was rendered.
    at: Timestamp,
    /// A word after it, such as ` ago`.
    #[prop(default = "")]
    suffix: &'static str,
) -> impl IntoView {
    let now = live::server_now(at);
    view! {
        <time datetime=since.to_string() title=format_utc(since)>
            {move || format_age(since, now.get(), suffix)}
        </time>
    }
    .into_any()
}

/// Below one second "just now", or "< 1 s" after a word such as "for": milliseconds would only flicker.
fn format_age(since: Timestamp, now: Timestamp, suffix: &str) -> String {
    if now.millis_since(since) < 1_000 {
        if suffix.is_empty() { "< 1 s".to_owned() } else { "just now".to_owned() }
    } else {
        format!("{}{suffix}", since.format_age(now))
    }
}

/// `2026-11-20 19:31:08 UTC`.
pub fn format_utc(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('T') {
        Some((day, rest)) => format!("{day} {} UTC", rest.split(['.', 'Z']).next().unwrap_or_default()),
        None => text,
    }
}

/// `14:31:08`, in UTC.
pub fn format_time_of_day(at: Timestamp) -> String {
    format_utc(at).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_absolute_time_includes_its_zone() {
        let at = Timestamp::from_millis(1_763_665_200_123);
        assert_eq!(format_utc(at), "2025-11-20 19:00:00 UTC");
        assert_eq!(format_time_of_day(at), "19:00:00");
    }
}
