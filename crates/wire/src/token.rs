//! API tokens.

use serde::{Deserialize, Serialize};

pub use domain::api_token::{ApiToken, ApiTokenCreated};

/// A token to create.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewApiToken {
    /// Its purpose.
    pub name: String,
    /// Lifetime in days, 1 to 365.
    pub days: u32,
}
