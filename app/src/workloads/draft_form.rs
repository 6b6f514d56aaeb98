//! A form whose fields are a part of a draft.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::autosave::SavedDraft;
use super::draft_part::DraftPart;
use crate::errors::AppResult;

/// The fields of a form, as they are sent, and how they are stored.
pub trait DraftForm: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// The part of the draft that it contains.
    fn part(&self) -> DraftPart;

    /// Sets the draft revision that the form is based on.
    fn set_base_revision(&mut self, revision: i64);

    /// Stores it; `None` if there was nothing to store.
    fn save(self) -> impl Future<Output = AppResult<Option<SavedDraft>>>;
}
