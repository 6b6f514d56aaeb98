//! The page of a form that is stored automatically: its saves, and the input with which it was left before.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_location;
use leptos_router::location::Location;

use super::autosave::{SaveState, SavedDraft, format_address};
use super::draft_form::DraftForm;
use super::draft_part::DraftPart;
use super::left_forms::{LeftForm, LeftForms, use_left_forms, user_read};
use crate::errors::{AppError, AppResult};

/// How long a form waits before it looks again whether the save of another form of its draft has ended.
const BUSY_PAUSE: Duration = Duration::from_millis(250);

/// The page of a form that is stored automatically, and the input with which it was left before.
#[derive(Clone, Copy)]
pub struct FormPage {
    forms: LeftForms,
    workload: StoredValue<String>,
    location: StoredValue<Location>,
    /// The address when a field was changed last.
    address: StoredValue<String>,
    /// The opened form in the list, with its revision.
    reopened: StoredValue<Option<(u32, i64)>>,
    /// Who types, as far as that is known.
    user: StoredValue<Option<String>>,
    /// The id of the input with which the page was left while a save was running; it is stored when that save ends.
    left: StoredValue<ArcStoredValue<Option<u32>>>,
}

impl FormPage {
    /// The current page, for a form of this workload.
    pub fn new(workload: &str) -> Self {
        let (forms, location) = (use_left_forms(), use_location());
        let address = read_address(&location);
        let reopened = forms.open(&address).map(|(id, form)| (id, form.base_revision));
        Self {
            forms,
            workload: StoredValue::new(workload.to_owned()),
            location: StoredValue::new(location),
            address: StoredValue::new(address),
            reopened: StoredValue::new(reopened),
            user: StoredValue::new(forms.user()),
            left: StoredValue::new(ArcStoredValue::new(None)),
        }
    }

    /// Who types, as far as that is known.
    fn user(self) -> Option<String> {
        self.user.try_get_value().flatten().or_else(|| self.forms.user())
    }

    /// The revision that the opened input is based on; `None` if the page was not left with unsaved input.
    pub fn reopened_revision(self) -> Option<i64> {
        self.reopened.get_value().map(|(_, revision)| revision)
    }

    /// A field was changed: the address is still that of the form. When the page is left, it is not.
    pub fn note_address(self) {
        if let Some(location) = self.location.try_get_value() {
            self.address.set_value(read_address(&location));
        }
    }

    /// Stores the fields, based on this revision; `before` is the state of the saves when it begins. Returns the state after a
    /// failure, and `None` if the page was left meanwhile: then the input with which it was left is stored.
    pub fn save<S: DraftForm>(
        self,
        mut fields: S,
        revision: i64,
        before: SaveState,
    ) -> impl Future<Output = Option<Result<Option<SavedDraft>, SaveState>>> {
        // Read now: when the save ends, the page may have lost its values.
        let (forms, user, left) = (self.forms, self.user(), self.left.get_value());
        let (name, part) = (self.workload.get_value(), fields.part());
        fields.set_base_revision(revision);
        async move {
            let result = match save_as(forms, user.as_deref(), fields, &before).await {
                Ok(saved) => Ok(saved),
                Err(error) => Err(SaveState::after_failure(&name, &error, &before).await),
            };
            let stored = match &result {
                Ok(Some(saved)) => saved.revision,
                _ => revision,
            };
            forms.advance_revision(&name, &part, revision, stored);
            if let Some(id) = left.get_value() {
                forms.set_base_revision(id, stored);
                start_attempt::<S>(forms, id, SaveState::Saving);
                return None;
            }
            Some(result)
        }
    }

    /// Records that the form was stored.
    pub fn record_save(self, part: Option<&DraftPart>, from: i64, to: i64) {
        self.remove_left_form();
        let Some(part) = part else { return };
        self.workload.with_value(|workload| self.forms.advance_revision(workload, part, from, to));
    }

    /// The input with which the page was left is stored.
    pub fn remove_left_form(self) {
        if let Some((id, _)) = self.reopened.get_value() {
            self.reopened.set_value(None);
            self.forms.remove(id);
        }
    }

    /// Stores the fields that the page is left with; while a save is running, when it has ended: a second save would be based on a
    /// revision that no longer exists.
    pub fn save_on_leave<S: DraftForm>(self, fields: S, revision: i64, state: SaveState) {
        let is_outdated = state == SaveState::Outdated;
        let typed_at = self.reopened_revision().filter(|_| is_outdated);
        self.remove_left_form();
        let form = LeftForm {
            workload: self.workload.get_value(),
            part: fields.part(),
            address: self.address.get_value(),
            fields: Arc::new(fields),
            base_revision: typed_at.unwrap_or(revision),
            user: self.user(),
            state,
        };
        if form.state == SaveState::Saving {
            let id = self.forms.insert(form);
            self.forms.set_saving(id, true);
            self.left.with_value(|left| left.set_value(Some(id)));
        } else {
            save_left_form::<S>(self.forms, form);
        }
    }

    /// The page is left, and has no input that is not stored or in the list.
    pub fn close<S: DraftForm>(self) {
        let Some((id, _)) = self.reopened.try_get_value().flatten() else { return };
        if let Some(form) = self.forms.close(id) {
            save_left_form::<S>(self.forms, form);
        }
    }
}

fn read_address(location: &Location) -> String {
    format_address(&location.pathname.get_untracked(), &location.search.get_untracked())
}

/// The input with which this page was left before it was stored, to be entered in its fields. The list retains it until the form is
/// stored.
pub fn open_left_form<S: DraftForm>() -> Option<S> {
    let (_, form) = use_left_forms().open(&read_address(&use_location()))?;
    form.fields.downcast_ref::<S>().cloned()
}

/// Whether the input with which this page was left can't be opened yet. When that ends, the page is to be read and built again, with
/// what was stored or with the input.
pub fn watch_left_form() -> Memo<bool> {
    let (forms, location) = (use_left_forms(), use_location());
    let (path, search) = (location.pathname, location.search);
    Memo::new(move |_| forms.is_pending(&format_address(&path.get(), &search.get())))
}

/// Stores the fields of `user`. When an earlier attempt has failed, another user may have signed in since: the fields are not stored
/// as those of that user.
async fn save_as<S: DraftForm>(
    forms: LeftForms,
    user: Option<&str>,
    fields: S,
    before: &SaveState,
) -> AppResult<Option<SavedDraft>> {
    if before.retry_delay().is_some() {
        let now = user_read().await?;
        let is_other = user.is_some_and(|user| user != now);
        forms.set_user(Some(now));
        if is_other {
            return Err(AppError::Unauthenticated("Another user is signed in now.".to_owned()));
        }
    }
    fields.save().await
}

/// Stores the fields of a page that was left within the console. Until they are stored, they are in the list of such forms, and the
/// browser asks before it closes the document.
fn save_left_form<S: DraftForm>(forms: LeftForms, form: LeftForm) {
    // A submission of a person is to replace the other change, not this one.
    let is_outdated = form.state == SaveState::Outdated;
    let before = form.state.clone();
    let state = if is_outdated { SaveState::Outdated } else { SaveState::Saving };
    let id = forms.insert(LeftForm { state, ..form });
    if !is_outdated {
        start_attempt::<S>(forms, id, before);
    }
}

/// Saves it once, and again after a pause, unless it was opened or discarded. Only one form of a draft is saved at a time.
fn start_attempt<S: DraftForm>(forms: LeftForms, id: u32, before: SaveState) {
    let Some(form) = forms.find_waiting(id) else { return };
    if forms.is_other_saving(id, &form.workload) {
        forms.set_saving(id, false);
        set_timeout(move || start_attempt::<S>(forms, id, before), BUSY_PAUSE);
        return;
    }
    let Some(mut fields) = form.fields.downcast_ref::<S>().cloned() else { return };
    fields.set_base_revision(form.base_revision);
    forms.set_saving(id, true);
    spawn_local(async move {
        match save_as(forms, form.user.as_deref(), fields, &before).await {
            Ok(saved) => {
                let stored = saved.map_or(form.base_revision, |saved| saved.revision);
                forms.remove(id);
                forms.advance_revision(&form.workload, &form.part, form.base_revision, stored);
            }
            Err(error) => {
                let state = SaveState::after_failure(&form.workload, &error, &before).await;
                forms.set_state(id, state.clone());
                forms.set_saving(id, false);
                if let Some(pause) = state.retry_delay() {
                    set_timeout(move || start_attempt::<S>(forms, id, state), pause);
                }
            }
        }
    });
}
