//! Ages: one short word, with the absolute time behind it. Counted with the server's clock, never the browser's.

use domain::Timestamp;
use leptos::prelude::*;

use crate::live;

/// `5 min`, and the absolute time in the title. It grows while the page is open.
#[component]
pub fn Age(
    /// Since when.
    since: Timestamp,
    /// The server's time when the page was made.
    at: Timestamp,
    /// A word after it, such as ` ago`.
    #[prop(default = "")]
    suffix: &'static str,
) -> impl IntoView {
    let now = live::now(at);
    view! {
        <time datetime=since.to_string() title=absolute(since)>
            {move || words(since, now.get(), suffix)}
        </time>
    }
    .into_any()
}

/// Nobody reads milliseconds, and they would flicker.
fn words(since: Timestamp, now: Timestamp, suffix: &str) -> String {
    if now.since(since) < 1_000 { "just now".to_owned() } else { format!("{}{suffix}", since.age(now)) }
}

/// `2026-11-20 19:31:08 UTC`.
pub fn absolute(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('T') {
        Some((day, rest)) => format!("{day} {} UTC", rest.split(['.', 'Z']).next().unwrap_or_default()),
        None => text,
    }
}

/// `14:31:08`, for a line that says when the page was read.
pub fn clock(at: Timestamp) -> String {
    absolute(at).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_absolute_time_names_its_zone() {
        let at = Timestamp::from_millis(1_763_665_200_123);
        assert_eq!(absolute(at), "2025-11-20 19:00:00 UTC");
        assert_eq!(clock(at), "19:00:00");
    }
}
