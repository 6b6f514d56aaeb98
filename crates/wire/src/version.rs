//! The server's version.

use serde::{Deserialize, Serialize};

/// The server's version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    /// Version of Flotilla.
    pub version: String,
    /// The API's version.
    pub api: String,
}
