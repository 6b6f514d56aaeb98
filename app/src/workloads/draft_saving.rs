//! Saving a draft on a tab: the button, disabled with the reason while the draft can't be edited, and the result.

use domain::authorization::UserAction;
use domain::workload::Workload;
use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::components::{Banner, DisabledButton, ErrorBanner, StatusStyle};
use crate::errors::{AppError, AppResult};
use crate::paths;
use crate::permission::Permission;

/// The button with this label. Not the main action of the page: the form is saved automatically, and the review comes next.
pub fn save_button(workload: &Workload, label: &'static str) -> AnyView {
    match domain::actions::check_edit(workload) {
        Ok(()) => view! {
            <Permission action=UserAction::Edit>
                <button class="btn" type="submit">{label}</button>
            </Permission>
        }
        .into_any(),
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
    let render_error = render_save_error();
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
        Some(Err(error)) => render_error(error),
        None => ().into_any(),
    }
}

/// Renders why a form was not stored. After a conflict, a link opens this page with the stored draft in another tab, so
/// that the input stays in the form and can be compared. Call it while the page is rendered.
pub fn render_save_error() -> impl Fn(AppError) -> AnyView + Copy + Send + Sync + 'static {
    let location = use_location();
    let page = Memo::new(move |_| {
        let (path, search) = (location.pathname.get(), location.search.get());
        if search.is_empty() { path } else { format!("{path}?{}", search.trim_start_matches('?')) }
    });
    move |error| {
        let compare = matches!(error, AppError::RevisionConflict { .. }).then(|| {
            view! {
                <p>
                    <a class="btn" href=page target="_blank" rel="noopener">
                        "Open the stored draft in a new tab"
                    </a>
                </p>
            }
        });
        view! {
            <ErrorBanner error=error />
            {compare}
        }
        .into_any()
    }
}
