//! Autosave: the draft is stored one second after the last key; the footer shows the state.

use domain::workload::SourceFile;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::fields::FileDrafts;
use super::save::SourceForm;
use crate::workloads::autosave::{PAUSE, SaveState, SavedDraft, guard_leave, status_view};
use crate::workloads::chart::draft::{ChartDraft, ChartForm};
use crate::workloads::draft_part::DraftPart;
use crate::workloads::form_autosave::{DraftForm, FormPage, save_as, start_attempt};
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
#[derive(Clone, Copy)]
pub struct Autosave {
    name: StoredValue<String>,
    namespace: RwSignal<String>,
    draft: SourceDraft,
    base_revision: RwSignal<i64>,
    stored: StoredValue<SourceContent>,
    /// The form that the page was left with while a save was running, and its id in the list; it is stored when that save ends.
    left: StoredValue<ArcStoredValue<Option<(SourceForm, u32)>>>,
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
            left: StoredValue::new(ArcStoredValue::new(None)),
            page: FormPage::new(name),
            state: RwSignal::default(),
        };
        if let Some(typed_at) = autosave.page.reopened_revision() {
            // The draft contains what was typed, which is not stored.
            autosave.stored.set_value(SourceContent::default());
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
        let form = self.create_form(&content);
        let (left, forms, user) = (self.left.get_value(), self.page.forms, self.page.user());
        spawn_local(async move {
            let (name, revision, part) = (form.name.clone(), form.base_revision, form.part());
            let result = save_as(forms, user.as_deref(), form, &before).await;
            let failure = match &result {
                Err(error) => Some(SaveState::after_failure(&name, error, &before).await),
                Ok(_) => None,
            };
            let saved = result.ok().flatten();
            let stored = saved.map_or(revision, |saved| saved.revision);
            forms.advance_revision(&name, &part, revision, stored);
            // The page was left meanwhile.
            if let Some((form, id)) = left.get_value() {
                forms.set_base_revision(id, stored);
                return start_attempt(forms, id, form, SaveState::Saving);
            }
            match failure {
                None => self.record_save(content, saved),
                Some(state) => {
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

    fn create_form(self, content: &SourceContent) -> SourceForm {
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
        if let Some(left) = self.page.save_on_leave(form, revision, state) {
            self.left.with_value(|stored| stored.set_value(Some(left)));
        }
    }

    fn record_save(self, content: SourceContent, saved: Option<SavedDraft>) {
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
