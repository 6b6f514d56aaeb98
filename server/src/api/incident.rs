//! Incidents of workloads (S0-13, E-12).

use serde::Deserialize;

pub mod acknowledge;
pub mod get;
pub mod list;

/// Path parameters of an incident.
#[derive(Debug, Deserialize)]
pub struct IncidentPath {
    /// Its id, as text: an unparsable id is answered with 404.
    incident: String,
}

impl IncidentPath {
    /// The id.
    ///
    /// # Errors
    /// It is none, so there is no such incident.
    pub fn id(&self) -> Result<domain::IncidentId, hub::Error> {
        self.incident.parse().map_err(|_| hub::Error::not_found("incident", self.incident.as_str()))
    }
}
