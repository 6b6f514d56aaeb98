//! The banner of an outage: what does not work, and what still does.

use domain::Timestamp;
use leptos::prelude::*;

use super::data::FrameData;
use crate::components::age::format_time_of_day;
use crate::components::{Banner, StatusStyle};
use crate::errors::STILL_WORKS;
use crate::live::{self, LiveMessage};
use crate::resource::PageResource;

/// Above every page while the server does not answer, or its database does not accept changes.
#[component]
pub fn OutageBanner(data: PageResource<FrameData>) -> impl IntoView {
    let message = live::use_live_updates().message;
    let outage = move || match message.get() {
        LiveMessage::Stale(since) => Some(describe_silence(since)),
        _ => data.get().and_then(|data| match data {
            Ok(data) => data.outage.map(|outage| describe_outage(&outage)),
            Err(error) => error.is_outage().then(|| error.to_string()),
        }),
    };
    view! { <Transition>{move || outage().map(|text| view! { <OutageText text=text /> })}</Transition> }
        .into_any()
}

/// The text of the banner.
#[component]
pub fn OutageText(
    /// What does not work.
    text: String,
) -> impl IntoView {
    view! {
        <Banner look=StatusStyle { icon: "error", hue: "hue-degraded", emphasis: "state-broken" }>
            <p>
                <b>{text}</b>
                " "
                {STILL_WORKS}
            </p>
        </Banner>
    }
    .into_any()
}

fn describe_silence(since: Timestamp) -> String {
    let since = format_time_of_day(since);
    format!(
        "The server or its database has not answered since {since} UTC: this page shows the state of then, and nothing can be saved."
    )
}

fn describe_outage(outage: &str) -> String {
    let mut text = outage.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{text}: nothing can be saved. Pages show the current state.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn p21_the_banner_says_what_does_not_work_and_what_still_does() {
        let text = describe_outage("the database is read-only");
        assert_eq!(text, "The database is read-only: nothing can be saved. Pages show the current state.");
        let page = render_html(move || view! { <OutageText text=text /> });
        for part in
            ["The database is read-only", "agents keep applying", "What you typed stays", "role=\"status\""]
        {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(describe_silence(Timestamp::from_millis(0)).contains("since 00:00"));
    }
}
