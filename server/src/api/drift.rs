//! The drift inbox (E-9).

use serde::Deserialize;

pub mod adopt;
pub mod get;
pub mod ignore;
pub mod list;
pub mod revert;
pub mod revert_fields;
pub mod snooze;

/// Path parameters of an entry.
#[derive(Debug, Deserialize)]
pub struct DriftPath {
    /// Its id, as text: an unparsable id is answered with 404.
    drift: String,
}

impl DriftPath {
    /// The id.
    ///
    /// # Errors
    /// It is none, so there is no such entry.
    pub fn id(&self) -> Result<domain::DriftId, hub::Error> {
        self.drift.parse().map_err(|_| hub::Error::not_found("drift", self.drift.as_str()))
    }
}
