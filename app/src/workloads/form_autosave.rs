//! Automatic saves of a plain form: one second after the last change its fields are stored as a submission would store them.
//! Leaving the page within the pause stores them too; what can't be stored then is in the list of forms that were left.

use leptos::html::Form;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::autosave::{PAUSE, SaveState, SavedDraft, guard_leave, status_view};
use super::draft_form::DraftForm;
use super::form_page::FormPage;
use crate::live;

/// After an event, until the page has changed what depends on it.
const SETTLE: std::time::Duration = std::time::Duration::from_millis(50);

/// Stores one form automatically.
pub struct FormAutosave<S: 'static> {
    form: NodeRef<Form>,
    base_revision: RwSignal<i64>,
    /// Whether it saves while a person types, or only when the page is left.
    while_typing: bool,
    /// The stored fields; `None` until they are known.
    stored: StoredValue<Option<String>>,
    /// The fields when they were read last.
    latest: RwSignal<Option<S>>,
    /// Counts changes: only the timer of the latest one saves.
    changes: StoredValue<u32>,
    /// Whether there was an event since the fields were compared.
    is_touched: StoredValue<bool>,
    page: FormPage,
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
            form,
            base_revision,
            while_typing,
            stored: StoredValue::new(None),
            latest: RwSignal::new(None),
            changes: StoredValue::new(0),
            is_touched: StoredValue::new(false),
            page: FormPage::new(name),
            state: RwSignal::default(),
        };
        autosave.continue_left_form();
        guard_leave(move || autosave.unsaved_fields().is_some());
        // Navigation within the pause stores the form too.
        on_cleanup(move || autosave.save_on_leave());
        autosave
    }

    /// The element of the form.
    pub const fn element(self) -> NodeRef<Form> {
        self.form
    }

    /// Continues with the input with which this page was left. The page has entered it in its fields.
    fn continue_left_form(self) {
        let Some(base_revision) = self.page.reopened_revision() else { return };
        if base_revision != self.base_revision.get_untracked() {
            self.state.set(SaveState::Outdated);
        }
        Effect::new(move |_| {
            if self.form.get().is_some() {
                self.note_input();
            }
        });
    }

    /// Enters what was typed, if something was, in the fields of the form that are rendered from the stored draft.
    pub fn enter_typed_input(self, typed: Option<&S>) {
        let Some(typed) = typed else { return };
        let mut fields = Vec::new();
        flatten_fields(String::new(), &serde_json::to_value(typed).unwrap_or_default(), &mut fields);
        Effect::new(move |_| {
            if let Some(form) = self.form.get() {
                live::form::enter_fields(&form, &fields);
            }
        });
    }

    /// Whether the page was left with input that was not stored, and is open again.
    pub fn is_reopened(self) -> bool {
        self.page.reopened_revision().is_some()
    }

    /// A field was changed.
    pub fn note_input(self) {
        self.page.note_address();
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
        let part = fields.as_ref().map(DraftForm::part);
        self.page.record_save(part.as_ref(), self.base_revision.get_untracked(), saved.revision);
        // The submission may be an earlier one than the latest automatic save.
        self.base_revision.update(|revision| *revision = saved.revision.max(*revision));
        self.state.set(SaveState::Saved(saved.saved_at));
    }

    /// The fields for a submission by another action, if they are not known to be stored. Not those that are older than the draft:
    /// only a person replaces the later change, by submitting the form.
    pub fn take_unsaved(self) -> Option<S> {
        if self.state.get_untracked() == SaveState::Outdated {
            return None;
        }
        let mut fields = self.unsaved_fields()?;
        fields.set_base_revision(self.base_revision.get_untracked());
        Some(fields)
    }

    /// The fields as they were read after the latest change; `None` before the first one. Tracked.
    pub fn latest_fields(self) -> Option<S> {
        self.latest.get()
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
        self.latest.set(Some(fields));
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
        let Some(before) = self.state.try_get_untracked().filter(SaveState::can_save) else {
            return;
        };
        let Some(fields) = self.read().or_else(|| self.latest.get_untracked()) else { return };
        let sent = key(&fields);
        self.state.set(SaveState::Saving);
        let saving = self.page.save(fields, self.base_revision.get_untracked(), before);
        spawn_local(async move {
            match saving.await {
                None => {}
                Some(Ok(saved)) => self.record_save(sent, saved),
                Some(Err(state)) => {
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
        self.page.remove_left_form();
        self.stored.set_value(Some(sent));
        self.compare();
    }

    /// The fields, if they are not known to be stored, also if they were typed just now. It changes no signal, because it is
    /// called while the page is left, when the views that would react have lost their values.
    fn unsaved_fields(self) -> Option<S> {
        let is_touched = self.is_touched.try_get_value()?;
        let typed = if is_touched { self.read() } else { None };
        let fields = typed.or_else(|| self.latest.try_get_untracked().flatten())?;
        let now = Some(key(&fields));
        let is_changed = is_touched && self.stored.try_with_value(|stored| *stored != now)?;
        let is_unsaved = is_changed || self.state.try_with_untracked(SaveState::is_unsaved)?;
        is_unsaved.then_some(fields)
    }

    fn save_on_leave(self) {
        let (Some(fields), Some(revision), Some(state)) =
            (self.unsaved_fields(), self.base_revision.try_get_untracked(), self.state.try_get_untracked())
        else {
            return self.page.close::<S>();
        };
        self.page.save_on_leave(fields, revision, state);
    }
}

/// The fields by the names of their inputs, such as `form[policies][ttl]`.
fn flatten_fields(name: String, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(parts) => {
            for (part, value) in parts {
                let name = if name.is_empty() { part.clone() } else { format!("{name}[{part}]") };
                flatten_fields(name, value, fields);
            }
        }
        Value::Array(rows) => {
            for (at, value) in rows.iter().enumerate() {
                flatten_fields(format!("{name}[{at}]"), value, fields);
            }
        }
        Value::String(text) => fields.push((name, text.clone())),
        other => fields.push((name, other.to_string())),
    }
}

/// The fields as text, whatever draft they are based on.
fn key<S: DraftForm>(fields: &S) -> String {
    let mut fields = fields.clone();
    fields.set_base_revision(0);
    // Serialization of plain data into memory does not fail.
    serde_json::to_string(&fields).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_flattened_to_the_names_of_their_inputs() {
        let form = serde_json::json!({
            "form": {"labels": "a=b", "files": [{"name": "x"}], "policies": {"prune": false, "ttl": null}}
        });
        let mut fields = Vec::new();
        flatten_fields(String::new(), &form, &mut fields);
        let listed: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(listed, ["form[labels]=a=b", "form[files][0][name]=x", "form[policies][prune]=false"]);
    }
}
