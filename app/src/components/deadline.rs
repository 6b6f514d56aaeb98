//! The mark of a release that is past its deadline (S2-3).

use domain::Timestamp;
use domain::release::describe_missed_deadline;
use leptos::prelude::*;

use super::age::format_utc;
use crate::live;

/// `past its deadline for 5 min`, from the deadline on, with its absolute time in the title; nothing before it.
#[component]
pub fn MissedDeadline(
    /// The deadline of the release, if it has one.
    deadline_at: Option<Timestamp>,
    /// The server's time when the page was rendered.
    at: Timestamp,
) -> impl IntoView {
    let now = live::server_now(at);
    let title = deadline_at.map(format_utc).unwrap_or_default();
    let mark = move || {
        let late = describe_missed_deadline(deadline_at, now.get())?;
        Some(view! { <span class="strong block" title=title.clone()>{late}</span> })
    };
    view! { {mark} }.into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn s2_3_a_release_is_marked_from_its_deadline_on() {
        let deadline = Timestamp::from_millis(1_763_665_200_000);
        let render = |deadline_at: Option<Timestamp>, at: Timestamp| {
            render_html(move || view! { <MissedDeadline deadline_at=deadline_at at=at /> })
        };
        let late = render(Some(deadline), deadline.plus_millis(300_000));
        assert!(late.contains("past its deadline for 5 min"), "{late}");
        assert!(late.contains("2025-11-20 19:00:00 UTC"), "{late}");
        for page in [render(Some(deadline), deadline.plus_millis(-1)), render(None, deadline)] {
            assert!(!page.contains("deadline"), "{page}");
        }
    }
}
