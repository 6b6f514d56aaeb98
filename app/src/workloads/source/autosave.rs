//! Autosave: the draft is stored one second after the last key; the footer shows the state.

use std::time::Duration;

use domain::Timestamp;
use domain::workload::SourceFile;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::fields::FileDrafts;
use super::save::{SavedDraft, SourceForm, draft_change_read, source_save};
use crate::components::age::{format_time_of_day, format_utc};
use crate::components::icon;
use crate::errors::AppError;
use crate::workloads::chart::fields::{ChartDraft, ChartForm};
use crate::workloads::git::fields::{GitDraft, GitForm};

/// Pause in typing after which the draft is stored.
const PAUSE: Duration = Duration::from_secs(1);

/// The state of automatic saves.
#[derive(Debug, Clone, Default, PartialEq)]
enum SaveState {
    /// No unsaved input yet.
    #[default]
    Idle,
    /// Unsaved input; a save is scheduled.
    Scheduled,
    /// A save is running.
    Saving,
    /// Everything is stored, since this time.
    Saved(Timestamp),
    /// The last save failed, with the reason.
    Failed(String),
}

/// The inputs of a source: files, a chart, or a Git repository.
#[derive(Debug, Clone, Copy)]
pub enum SourceDraft {
    /// Files.
    Files(FileDrafts),
    /// A chart.
    Chart(ChartDraft),
    /// A Git repository.
    Git(GitDraft),
}

/// What is stored of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SourceContent {
    files: Vec<SourceFile>,
    chart: ChartForm,
    git: GitForm,
}

impl SourceDraft {
    fn content(self) -> SourceContent {
        match self {
            Self::Files(drafts) => SourceContent { files: drafts.files(), ..SourceContent::default() },
            Self::Chart(draft) => SourceContent { chart: draft.form(), ..SourceContent::default() },
            Self::Git(draft) => SourceContent { git: draft.form(), ..SourceContent::default() },
        }
    }
}

/// Stores the draft of a workload automatically.
#[derive(Debug, Clone, Copy)]
pub struct Autosave {
    name: StoredValue<String>,
    namespace: RwSignal<String>,
    draft: SourceDraft,
    base_revision: RwSignal<i64>,
    stored: StoredValue<SourceContent>,
    state: RwSignal<SaveState>,
}

impl Autosave {
    /// Starts to store `draft` as the draft of `name`.
    pub fn new(
        name: &str,
        namespace: RwSignal<String>,
        draft: SourceDraft,
        base_revision: RwSignal<i64>,
    ) -> Self {
        let autosave = Self {
            name: StoredValue::new(name.to_owned()),
            namespace,
            draft,
            base_revision,
            stored: StoredValue::new(untrack(|| draft.content())),
            state: RwSignal::default(),
        };
        let mut later = debounce(PAUSE, move |()| autosave.save());
        Effect::new(move |before: Option<()>| {
            let now = draft.content();
            let changed = autosave.stored.with_value(|stored| *stored != now);
            if before.is_some() && changed {
                autosave.state.update(|state| {
                    if !matches!(state, SaveState::Failed(_) | SaveState::Saving) {
                        *state = SaveState::Scheduled;
                    }
                });
                later(());
            }
        });
        Effect::new(move |_| {
            let listener = window_event_listener_untyped("beforeunload", move |event| {
                let is_unsaved = autosave
                    .state
                    .with_untracked(|state| matches!(state, SaveState::Scheduled | SaveState::Failed(_)));
                if is_unsaved {
                    event.prevent_default();
                }
            });
            on_cleanup(move || listener.remove());
        });
        // Navigation within the pause stores the draft too.
        on_cleanup(move || {
            if autosave.state.try_get_untracked() == Some(SaveState::Scheduled) {
                autosave.save();
            }
        });
        autosave
    }

    /// Records that a form submission stored everything.
    pub fn record_submission(self, saved: SavedDraft) {
        self.stored.set_value(untrack(|| self.draft.content()));
        self.base_revision.set(saved.revision);
        self.state.set(SaveState::Saved(saved.saved_at));
    }

    /// Stores the current content; one save at a time.
    fn save(self) {
        if self.state.try_get_untracked().is_none_or(|state| state == SaveState::Saving) {
            return;
        }
        let content = untrack(|| self.draft.content());
        if self.stored.with_value(|stored| *stored == content) {
            return self.state.update(|state| {
                if *state == SaveState::Scheduled {
                    *state = SaveState::Idle;
                }
            });
        }
        self.state.set(SaveState::Saving);
        let form = SourceForm {
            name: self.name.get_value(),
            base_revision: self.base_revision.get_untracked(),
            namespace: self.namespace.get_untracked(),
            files: content.files.clone(),
            chart: content.chart.clone(),
            git: content.git.clone(),
        };
        spawn_local(async move {
            let name = form.name.clone();
            match source_save(form, String::new()).await {
                Ok(saved) => self.record_save(content, saved),
                Err(error) => {
                    let why = describe_error(&name, &error).await;
                    let _ = self.state.try_set(SaveState::Failed(why));
                }
            }
        });
    }

    fn record_save(self, content: SourceContent, saved: SavedDraft) {
        // The page may have been left meanwhile.
        if self.base_revision.try_set(saved.revision).is_some() {
            return;
        }
        let more = untrack(|| self.draft.content()) != content;
        self.stored.set_value(content);
        self.state.set(SaveState::Saved(saved.saved_at));
        if more {
            self.state.set(SaveState::Scheduled);
            self.save();
        }
    }

    /// The state, for the footer.
    pub fn status_view(self) -> AnyView {
        view! {
            <span class="reason" role="status">
                {move || match self.state.get() {
                    SaveState::Idle => ().into_any(),
                    SaveState::Scheduled | SaveState::Saving => view! { <span class="text-3">"Saving…"</span> }.into_any(),
                    SaveState::Saved(at) => {
                        let time: String = format_time_of_day(at).chars().take(5).collect();
                        view! { <span class="text-3" title=format_utc(at)>{format!("Saved {time}")}</span> }.into_any()
                    }
                    SaveState::Failed(why) => {
                        view! { <span class="flex gap-2 hue-degraded">{icon("error")} <span class="text-ink">{format!("Not saved: {why}")}</span></span> }
                            .into_any()
                    }
                }}
            </span>
        }
        .into_any()
    }
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
