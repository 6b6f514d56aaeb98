//! What failed, why, and what to do: on the page, never in a toast.

use leptos::prelude::*;
use leptos_router::components::Redirect;
use leptos_router::hooks::use_location;

use super::{FindingList, icon_sized};
use crate::errors::AppError;
use crate::paths;

/// A query that gave nothing, as a page. Somebody who is not signed in is sent to sign in and comes back.
#[component]
pub fn Problem(
    /// Why.
    error: AppError,
) -> impl IntoView {
    let location = use_location();
    let here =
        || paths::query(&location.pathname.get_untracked(), &[]) + &search(&location.search.get_untracked());
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

fn search(text: &str) -> String {
    match text.trim_start_matches('?') {
        "" => String::new(),
        rest => format!("?{rest}"),
    }
}

/// What a verb said, when it said no. It stands at the form.
#[component]
pub fn Said(
    /// Why.
    error: AppError,
) -> impl IntoView {
    let findings = error.findings().to_vec();
    view! {
        <div class="banner hue-degraded" role="alert">
            {icon_sized("error", "icon icon-16")}
            <div>
                <p>
                    <b>{error.title()}": "</b>
                    {error.to_string()}
                </p>
                {(findings.len() > 1).then(|| view! { <FindingList findings=findings /> })}
            </div>
        </div>
    }
    .into_any()
}
