//! Automatic saves of a plain form: one second after the last change its fields are stored as a submission would store them.
//! Leaving the page within the pause stores them too.

use leptos::html::Form;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::autosave::{PAUSE, SaveState, SavedDraft, guard_leave, status_view};
use crate::errors::{AppError, AppResult};
use crate::live;

/// After an event, until the page has changed what depends on it.
const SETTLE: std::time::Duration = std::time::Duration::from_millis(50);

/// The fields of a form, as they are sent, and how they are stored.
pub trait DraftForm: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// Sets the draft revision that the form is based on.
    fn set_base_revision(&mut self, revision: i64);

    /// Stores it; `None` if there was nothing to store.
    fn save(self) -> impl Future<Output = AppResult<Option<SavedDraft>>>;
}

/// Stores one form automatically.
pub struct FormAutosave<S: 'static> {
    name: StoredValue<String>,
    form: NodeRef<Form>,
    base_revision: RwSignal<i64>,
    /// Whether it saves while a person types, or only when the page is left.
    while_typing: bool,
    /// The stored fields; `None` until they are known.
    stored: StoredValue<Option<String>>,
    /// The fields when they were read last.
    latest: StoredValue<Option<S>>,
    /// Counts changes: only the timer of the latest one saves.
    changes: StoredValue<u32>,
    /// Whether there was an event since the fields were compared.
    is_touched: StoredValue<bool>,
    /// The fields that the page was left with while a save was running; that save stores them when it ends.
    left: StoredValue<ArcStoredValue<Option<S>>>,
    state: RwSignal<SaveState>,
}

impl<S> Clone for FormAutosave<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for FormAutosave<S> {}

impl<S: DraftForm> FormAutosave<S> {
    /// Stores `form` as a part of the draft of `name`.
    pub fn new(name: &str, form: NodeRef<Form>, base_revision: RwSignal<i64>, while_typing: bool) -> Self {
        let autosave = Self {
            name: StoredValue::new(name.to_owned()),
            form,
            base_revision,
            while_typing,
            stored: StoredValue::new(None),
            latest: StoredValue::new(None),
            changes: StoredValue::new(0),
            is_touched: StoredValue::new(false),
            left: StoredValue::new(ArcStoredValue::new(None)),
            state: RwSignal::default(),
        };
        guard_leave(move || autosave.unsaved_fields().is_some());
        // Navigation within the pause stores the form too.
        on_cleanup(move || autosave.save_on_leave());
        autosave
    }

    /// The element of the form.
    pub const fn element(self) -> NodeRef<Form> {
        self.form
    }

    /// A field was changed.
    pub fn note_input(self) {
        self.is_touched.set_value(true);
        set_timeout(move || self.compare(), SETTLE);
    }

    /// Something was pressed, which may have changed fields. The fields before are not known here: a tick is set before its click is
    /// reported. An unchanged draft is accepted and not stored again.
    pub fn note_click(self) {
        if self.while_typing {
            set_timeout(move || self.compare(), SETTLE);
        }
    }

    /// Records that a submission stored everything.
    pub fn record_submission(self, saved: SavedDraft) {
        let fields = self.read();
        self.stored.set_value(fields.as_ref().map(key));
        // The submission may be an earlier one than the latest automatic save.
        self.base_revision.update(|revision| *revision = saved.revision.max(*revision));
        self.state.set(SaveState::Saved(saved.saved_at));
    }

    /// The fields for a submission by another action, if they are not known to be stored.
    pub fn take_unsaved(self) -> Option<S> {
        let mut fields = self.unsaved_fields()?;
        fields.set_base_revision(self.base_revision.get_untracked());
        Some(fields)
    }

    /// The state, for the footer.
    pub fn status_view(self) -> AnyView {
        status_view(self.state)
    }

    fn read(self) -> Option<S> {
        let form = self.form.try_get_untracked()??;
        live::form::read_form(&form)
    }

    /// Schedules a save if the fields differ from what is stored.
    fn compare(self) {
        let Some(fields) = self.read() else { return };
        let now = Some(key(&fields));
        self.is_touched.set_value(false);
        self.latest.set_value(Some(fields));
        if self.stored.try_with_value(|stored| *stored == now).unwrap_or(true) {
            return;
        }
        self.state.update(|state| {
            if state.can_schedule() || matches!(state, SaveState::Failed(_)) {
                *state = if self.while_typing { SaveState::Scheduled } else { SaveState::Deferred };
            }
        });
        let change = self.changes.with_value(|changes| changes.wrapping_add(1));
        self.changes.set_value(change);
        if self.while_typing {
            self.save_after(PAUSE, change);
        }
    }

    /// Saves after a pause, unless the fields change within it.
    fn save_after(self, pause: std::time::Duration, change: u32) {
        let save = move || {
            if self.changes.try_get_value() == Some(change) {
                self.save();
            }
        };
        set_timeout(save, pause);
    }

    /// Stores the current fields; one save at a time.
    fn save(self) {
        let Some(before) = self.state.try_get_untracked().filter(|state| *state != SaveState::Saving) else {
            return;
        };
        let Some(mut fields) = self.read().or_else(|| self.latest.get_value()) else { return };
        let sent = key(&fields);
        let revision = self.base_revision.get_untracked();
        let left = self.left.get_value();
        fields.set_base_revision(revision);
        self.state.set(SaveState::Saving);
        spawn_local(async move {
            let result = fields.save().await;
            if let Some(left) = left.get_value() {
                let stored = result.ok().flatten().map_or(revision, |saved| saved.revision);
                return save_left_form(left, stored).await;
            }
            match result {
                Ok(saved) => self.record_save(sent, saved),
                Err(error) => {
                    let Some(name) = self.name.try_get_value() else { return log_left(&error) };
                    let state = SaveState::after_failure(&name, &error, &before).await;
                    let retry = state.retry_delay();
                    if self.state.try_set(state).is_none()
                        && let (Some(pause), Some(change)) = (retry, self.changes.try_get_value())
                    {
                        self.save_after(pause, change);
                    }
                }
            }
        });
    }

    fn record_save(self, sent: String, saved: Option<SavedDraft>) {
        let state = saved.map_or(SaveState::Idle, |saved| SaveState::Saved(saved.saved_at));
        // The page may have been left meanwhile.
        if self.state.try_set(state).is_some() {
            return;
        }
        if let Some(saved) = saved {
            self.base_revision.set(saved.revision);
        }
        self.stored.set_value(Some(sent));
        self.compare();
    }

    /// The fields, if they are not known to be stored, also if they were typed just now. It changes no signal, because it is
    /// called while the page is left, when the views that would react have lost their values.
    fn unsaved_fields(self) -> Option<S> {
        let is_touched = self.is_touched.try_get_value()?;
        let typed = if is_touched { self.read() } else { None };
        let fields = typed.or_else(|| self.latest.try_get_value().flatten())?;
        let now = Some(key(&fields));
        let is_changed = is_touched && self.stored.try_with_value(|stored| *stored != now)?;
        let is_unsaved = is_changed || self.state.try_with_untracked(SaveState::is_unsaved)?;
        is_unsaved.then_some(fields)
    }

    fn save_on_leave(self) {
        let (Some(fields), Some(revision)) = (self.unsaved_fields(), self.base_revision.try_get_untracked())
        else {
            return;
        };
        if self.state.with_untracked(|state| *state == SaveState::Saving) {
            // A second save beside the running one would be based on a revision that no longer exists.
            return self.left.with_value(|left| left.set_value(Some(fields)));
        }
        spawn_local(save_left_form(fields, revision));
    }
}

/// Stores the fields of a page that was left within the console. Until they are stored, the browser asks before it closes the
/// document, which would end the request.
pub async fn save_left_form<S: DraftForm>(mut fields: S, revision: i64) {
    let listener = window_event_listener_untyped("beforeunload", |event| event.prevent_default());
    fields.set_base_revision(revision);
    if let Err(error) = fields.save().await {
        log_left(&error);
    }
    listener.remove();
}

fn log_left(error: &AppError) {
    leptos::logging::error!("the form was not saved when its page was left: {error}");
}

/// The fields as text, whatever draft they are based on.
fn key<S: DraftForm>(fields: &S) -> String {
    let mut fields = fields.clone();
    fields.set_base_revision(0);
    // Serialization of plain data into memory does not fail.
    serde_json::to_string(&fields).unwrap_or_default()
}
