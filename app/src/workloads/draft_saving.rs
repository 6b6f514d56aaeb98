//! Saving a draft on a tab: the button, disabled with the reason while the draft can't be edited, and the result.

use domain::workload::Workload;
use leptos::prelude::*;

use crate::components::{Banner, DisabledButton, ErrorBanner, StatusStyle};
use crate::errors::AppResult;
use crate::paths;

/// The button with this label.
pub fn save_button(workload: &Workload, label: &'static str) -> AnyView {
    match domain::actions::check_edit(workload) {
        Ok(()) => view! { <button class="btn btn-primary" type="submit">{label}</button> }.into_any(),
        Err(why) => {
            view! { <DisabledButton verb=label.to_owned() why=why.to_string() id="why-edit" /> }.into_any()
        }
    }
}

/// The result of saving, with a link to the review of this workload; nothing before the first save.
pub fn save_result<F>(result: F, name: &str, message: &'static str) -> impl IntoView + use<F>
where
    F: Fn() -> Option<AppResult<()>> + Send + 'static,
{
    let review = StoredValue::new(paths::publish(name));
    move || match result() {
        Some(Ok(())) => view! {
            <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
                <p>
                    <b>{message}</b>
                    " No cluster has changed."
                </p>
                <div class="banner-actions">
                    <a class="btn" href=review.get_value()>
                        "Review"
                    </a>
                </div>
            </Banner>
        }
        .into_any(),
        Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
        None => ().into_any(),
    }
}
