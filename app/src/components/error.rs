//! Errors: what failed, why, and what to do. On the page, never in a toast.

use leptos::html::Div;
use leptos::prelude::*;
use leptos_router::components::Redirect;
use leptos_router::hooks::use_location;

use super::findings::FindingList;
use super::icon::icon_sized;
use crate::errors::{AppError, AppResult, ChangeFailure, STILL_WORKS};
use crate::{live, paths};

/// A failed query, as a page. A user who is not signed in is redirected to the sign-in page and then back.
#[component]
pub fn LoadError(
    /// The error.
    error: AppError,
) -> impl IntoView {
    let location = use_location();
    let here = || {
        paths::query(&location.pathname.get_untracked(), &[])
            + &query_suffix(&location.search.get_untracked())
    };
    if let AppError::Unauthenticated(_) = error {
        return view! { <Redirect path=paths::sign_in(&here()) /> }.into_any();
    }
    let next = match &error {
        AppError::NotFound { what, .. } if what == "workload" => {
            ("All workloads", paths::WORKLOADS.to_owned())
        }
        AppError::NotFound { what, .. } if what == "cluster" => ("All clusters", paths::CLUSTERS.to_owned()),
        AppError::NotFound { .. } => ("Fleet", paths::FLEET.to_owned()),
        _ => ("Load this page again", here()),
    };
    view! {
        <section class="empty" role="alert">
            <h1 class="section">{error.title()}</h1>
            <p>{error.to_string()}</p>
            {error.is_outage().then(|| view! { <p class="text-2">{STILL_WORKS}</p> })}
            <FindingList findings=error.findings().to_vec() />
            <div class="empty-actions">
                <a class="btn" href=next.1 rel="external">
                    {next.0}
                </a>
            </div>
        </section>
    }
    .into_any()
}

fn query_suffix(text: &str) -> String {
    match text.trim_start_matches('?') {
        "" => String::new(),
        rest => format!("?{rest}"),
    }
}

/// A failed action, as a banner at its form. It is scrolled into view after a submission.
#[component]
pub fn ErrorBanner(
    /// The error.
    error: AppError,
) -> impl IntoView {
    let alert = NodeRef::<Div>::new();
    Effect::new(move |_| live::alerts::show_alert(alert));
    let findings = error.findings().to_vec();
    let failures = match &error {
        AppError::PartlyFailed { failed, .. } => failed.clone(),
        _ => Vec::new(),
    };
    let failure = |one: ChangeFailure| view! { <li><b class="name">{one.name}</b> ": " {one.message}</li> };
    view! {
        <div class="banner hue-degraded" role="alert" node_ref=alert>
            {icon_sized("error", "icon icon-16")}
            <div>
                <p>
                    <b>{error.title()}": "</b>
                    {error.to_string()}
                </p>
                {error.is_outage().then(|| view! { <p class="text-2">{STILL_WORKS}</p> })}
                {(!failures.is_empty()).then(|| view! { <ul>{failures.into_iter().map(failure).collect_view()}</ul> })}
                {(findings.len() > 1).then(|| view! { <FindingList findings=findings /> })}
            </div>
        </div>
    }
    .into_any()
}

/// The error of an action, at its form; nothing while there is none.
pub fn action_error<T: Clone + Send + Sync + 'static>(
    value: MappedSignal<Option<AppResult<T>>>,
) -> impl IntoView {
    move || value.get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })
}
