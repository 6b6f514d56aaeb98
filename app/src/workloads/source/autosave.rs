//! Autosave: the draft is stored one second after the last key; the footer shows the state.

use domain::workload::SourceFile;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::fields::FileDrafts;
use super::save::SourceForm;
use crate::workloads::autosave::{PAUSE, SaveState, SavedDraft, guard_leave, status_view};
use crate::workloads::chart::draft::{ChartDraft, ChartForm};
use crate::workloads::draft_part::DraftPart;
use crate::workloads::form_page::FormPage;
use crate::workloads::git::fields::{GitDraft, GitForm};

/// The inputs of a source: files, a chart, or a Git repository.
#[derive(Clone, Copy)]
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
struct SavedSource {
    files: Vec<SourceFile>,
    chart: ChartForm,
    git: GitForm,
}

impl SourceDraft {
    fn content(self) -> SavedSource {
        match self {
            Self::Files(drafts) => SavedSource { files: drafts.files(), ..SavedSource::default() },
            Self::Chart(draft) => SavedSource { chart: draft.form(), ..SavedSource::default() },
            Self::Git(draft) => SavedSource { git: draft.form(), ..SavedSource::default() },
        }
    }
}

/// Stores the draft of a workload automatically.
#[derive(Clone, Copy)]
pub struct Autosave {
    name: StoredValue<String>,
    namespace: RwSignal<String>,
    draft: SourceDraft,
    base_revision: RwSignal<i64>,
    stored: StoredValue<SavedSource>,
    page: FormPage,
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
            page: FormPage::new(name),
            state: RwSignal::default(),
        };
        if let Some(typed_at) = autosave.page.reopened_revision() {
            // The draft contains what was typed, which is not stored.
            autosave.stored.set_value(SavedSource::default());
            if typed_at != base_revision.get_untracked() {
                autosave.state.set(SaveState::Outdated);
            }
        }
        let mut later = debounce(PAUSE, move |()| autosave.save());
        Effect::new(move |_| {
            let now = draft.content();
            let changed = autosave.stored.with_value(|stored| *stored != now);
            if changed {
                autosave.state.update(|state| {
                    if state.can_schedule() {
                        *state = SaveState::Scheduled;
                    }
                });
                later(());
            }
        });
        guard_leave(move || autosave.state.with_untracked(SaveState::is_unsaved));
        // Navigation within the pause stores the draft too.
        on_cleanup(move || autosave.save_on_leave());
        autosave
    }

    /// Records that a form submission stored everything.
    pub fn record_submission(self, saved: SavedDraft) {
        self.stored.set_value(untrack(|| self.draft.content()));
        let from = self.base_revision.get_untracked();
        self.page.record_save(Some(&DraftPart::Source), from, saved.revision);
        self.base_revision.set(saved.revision);
        self.state.set(SaveState::Saved(saved.saved_at));
    }

    /// Stores the current content; one save at a time.
    fn save(self) {
        let Some(before) = self.state.try_get_untracked().filter(SaveState::can_save) else {
            return;
        };
        let content = untrack(|| self.draft.content());
        if self.stored.with_value(|stored| *stored == content) {
            return self.state.update(|state| {
                if *state == SaveState::Scheduled {
                    *state = SaveState::Idle;
                }
            });
        }
        self.state.set(SaveState::Saving);
        let saving = self.page.save(self.create_form(&content), self.base_revision.get_untracked(), before);
        spawn_local(async move {
            match saving.await {
                None => {}
                Some(Ok(saved)) => self.record_save(content, saved),
                Some(Err(state)) => {
                    let retry = state.retry_delay();
                    if self.state.try_set(state).is_none()
                        && let Some(pause) = retry
                    {
                        set_timeout(move || self.save(), pause);
                    }
                }
            }
        });
    }

    fn create_form(self, content: &SavedSource) -> SourceForm {
        SourceForm {
            name: self.name.get_value(),
            base_revision: self.base_revision.get_untracked(),
            namespace: self.namespace.get_untracked(),
            files: content.files.clone(),
            chart: content.chart.clone(),
            git: content.git.clone(),
            ..SourceForm::default()
        }
    }

    fn save_on_leave(self) {
        let Some(state) = self.state.try_get_untracked().filter(SaveState::is_unsaved) else {
            return self.page.close::<SourceForm>();
        };
        let content = untrack(|| self.draft.content());
        if self.stored.with_value(|stored| *stored == content) && state != SaveState::Saving {
            return self.page.close::<SourceForm>();
        }
        let form = self.create_form(&content);
        let revision = form.base_revision;
        self.page.save_on_leave(form, revision, state);
    }

    fn record_save(self, content: SavedSource, saved: Option<SavedDraft>) {
        let Some(saved) = saved else { return };
        // The page may have been left meanwhile.
        if self.base_revision.try_set(saved.revision).is_some() {
            return;
        }
        self.page.remove_left_form();
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
        status_view(self.state)
    }
}
