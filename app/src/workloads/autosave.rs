//! Automatic saves: the state, how it is shown, the guard against leaving with unsaved input, and what follows a failure.

use std::time::Duration;

use domain::Timestamp;
use domain::workload::LatestEdit;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use serde::{Deserialize, Serialize};

use crate::components::age::{format_time_of_day, format_utc};
use crate::components::icon;
use crate::errors::{AppError, AppResult};
use crate::paths;

/// Pause in typing after which the draft is stored.
pub const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to store it.
const LONGEST_RETRY: Duration = Duration::from_secs(15);

/// The result of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedDraft {
    /// The new revision of the draft.
    pub revision: i64,
    /// When it was stored, by the server's clock.
    pub saved_at: Timestamp,
}

/// The state of automatic saves.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum SaveState {
    /// No unsaved input yet.
    #[default]
    Idle,
    /// Unsaved input; a save is scheduled.
    Scheduled,
    /// Unsaved input that is stored when the form is left.
    Deferred,
    /// A save is running.
    Saving,
    /// Everything is stored, since this time.
    Saved(Timestamp),
    /// The last save failed because of an outage and is repeated; how often it failed.
    Retrying(u32),
    /// The last save failed because nobody is signed in, and is repeated; how often it failed.
    SignedOut(u32),
    /// The last save failed, with the reason.
    Failed(String),
}

impl SaveState {
    /// Whether there is input that is not known to be stored.
    pub const fn is_unsaved(&self) -> bool {
        !matches!(self, Self::Idle | Self::Saved(_))
    }

    /// Whether a change of the input schedules a save: after a failure the next attempt saves it too.
    pub const fn can_schedule(&self) -> bool {
        matches!(self, Self::Idle | Self::Deferred | Self::Saved(_))
    }

    /// How long after a failure the save is repeated; `None` if only another input can succeed.
    pub fn retry_delay(&self) -> Option<Duration> {
        match self {
            Self::Retrying(failures) | Self::SignedOut(failures) => {
                Some(Duration::from_secs(1 << (*failures).min(4)).min(LONGEST_RETRY))
            }
            _ => None,
        }
    }

    /// The state after a failed save of the workload `name`; `before` is the state when the save began.
    pub async fn after_failure(name: &str, error: &AppError, before: &Self) -> Self {
        let failures = match before {
            Self::Retrying(failures) | Self::SignedOut(failures) => failures + 1,
            _ => 1,
        };
        match error {
            AppError::Unauthenticated(_) => Self::SignedOut(failures),
            AppError::Internal => Self::Retrying(failures),
            error if error.is_outage() => Self::Retrying(failures),
            error => Self::Failed(describe_error(name, error).await),
        }
    }
}

/// Asks before the page is left, while there is unsaved input.
pub fn guard_leave(has_unsaved_input: impl Fn() -> bool + Copy + 'static) {
    Effect::new(move |_| {
        let listener = window_event_listener_untyped("beforeunload", move |event| {
            if has_unsaved_input() {
                event.prevent_default();
            }
        });
        on_cleanup(move || listener.remove());
    });
}

/// Shows the state.
pub fn status_view(state: RwSignal<SaveState>) -> AnyView {
    let location = use_location();
    let sign_in = Memo::new(move |_| paths::sign_in(&location.pathname.get()));
    view! {
        <span class="reason" role="status">
            {move || match state.get() {
                SaveState::Idle => ().into_any(),
                SaveState::Deferred => view! { <span class="text-3">"Not saved yet: it is saved when you go on or choose another cluster."</span> }.into_any(),
                SaveState::Scheduled | SaveState::Saving => view! { <span class="text-3">"Saving…"</span> }.into_any(),
                SaveState::Saved(at) => {
                    let time: String = format_time_of_day(at).chars().take(5).collect();
                    view! { <span class="text-3" title=format_utc(at)>{format!("Saved {time}")}</span> }.into_any()
                }
                SaveState::Retrying(_) => show_failure("Not saved: the server or its database does not respond. Trying again.".into_any()),
                SaveState::SignedOut(_) => show_failure(view! {
                    "Not saved: you are signed out. "
                    <a class="link" href=sign_in target="_blank" rel="external">"Sign in in a new tab"</a>
                    "; what you typed stays here and is then saved."
                }
                .into_any()),
                SaveState::Failed(why) => show_failure(format!("Not saved: {why}").into_any()),
            }}
        </span>
    }
    .into_any()
}

fn show_failure(text: AnyView) -> AnyView {
    view! { <span class="flex gap-2 hue-degraded">{icon("error")} <span class="text-ink">{text}</span></span> }
        .into_any()
}

/// Reads who changed a draft last, and when.
#[server(prefix = "/api/fn", endpoint = "draft_change_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_change_read(name: String) -> AppResult<LatestEdit> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.get_latest_edit(&name).await)
}

/// Why a draft was not stored; for a conflict, who changed it.
async fn describe_error(name: &str, error: &AppError) -> String {
    if !matches!(error, AppError::RevisionConflict { .. }) {
        return error.to_string();
    }
    let (who, when) = match draft_change_read(name.to_owned()).await {
        Ok(edit) => (edit.updated_by, format!(" at {}", format_time_of_day(edit.updated_at))),
        Err(_) => ("Another user".to_owned(), String::new()),
    };
    format!(
        "{who} changed this draft{when}. Your text remains in this tab; open the page in another tab and merge the changes."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_retried_with_a_growing_pause_and_a_rejected_input_is_not() {
        let seconds = |state: SaveState| state.retry_delay().map(|delay| delay.as_secs());
        assert_eq!(seconds(SaveState::Retrying(1)), Some(2));
        assert_eq!(seconds(SaveState::SignedOut(3)), Some(8));
        assert_eq!(seconds(SaveState::Retrying(40)), Some(15));
        assert_eq!(seconds(SaveState::Failed("G100".into())), None);
    }

    #[test]
    fn input_that_is_not_known_to_be_stored_is_guarded() {
        assert!(SaveState::Saving.is_unsaved() && SaveState::SignedOut(1).is_unsaved());
        assert!(SaveState::Deferred.is_unsaved());
        assert!(!SaveState::Idle.is_unsaved() && !SaveState::Saved(Timestamp::from_millis(1)).is_unsaved());
    }
}
