//! The commit of a workload, its ref and the last check, with the button that checks now.

use domain::git_status::GitSourceStatus;
use leptos::prelude::*;

use super::commit::describe_commit;
use super::queries::{GitSourceCheck, git_source_read};
use crate::components::age::format_utc;
use crate::components::{ErrorBanner, render_value};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::resource::read_again;

/// The state of the stored Git source; read again after each change.
#[component]
pub fn GitStatus(
    /// The workload.
    name: String,
    /// The state that the query of the page found.
    status: Option<AppResult<GitSourceStatus>>,
) -> impl IntoView {
    let check = ServerAction::<GitSourceCheck>::new();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let key = StoredValue::new(name);
    let data = read_again(
        status,
        move || (check.version().get(), version.get()),
        move |_| git_source_read(key.get_value()),
    );
    view! {
        <section class="stack-sm" aria-labelledby="git-status">
            <h2 class="section" id="git-status">"Commit"</h2>
            {render_value(data, show_status)}
            {move || check.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <div>
                <button class="btn btn-sm" type="button" disabled=move || check.pending().get()
                    on:click=move |_| drop(check.dispatch(GitSourceCheck { name: key.get_value() }))>
                    {move || if check.pending().get() { "Checking…" } else { "Check now" }}
                </button>
            </div>
        </section>
    }
    .into_any()
}

fn show_status(source: GitSourceStatus) -> AnyView {
    let is_failed = source.status.failure.is_some() || source.follow.blocked.is_some();
    let checked = match source.status.checked_at {
        Some(at) => format!("Checked {}.", format_utc(at)),
        None => "Not checked yet.".to_owned(),
    };
    let draft = source.draft.as_ref().map(|pinned| view! { <div>"Draft: " {describe_commit(pinned)}</div> });
    let published =
        source.published.as_ref().map(|pinned| view! { <div>"Published: " {describe_commit(pinned)}</div> });
    view! {
        <div class="stack-sm" aria-live="polite">
            {draft}
            {published}
            <p class=if is_failed { "hue-degraded" } else { "text-2" }>
                <span class=if is_failed { "text-ink" } else { "" }>{source.message}</span>
            </p>
            <p class="meta">{checked}</p>
        </div>
    }
    .into_any()
}
