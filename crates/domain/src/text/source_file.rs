//! Files that a user writes.

use serde::{Deserialize, Serialize};

/// One named file of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SourceFile {
    /// Its name, shown in findings.
    pub name: String,
    /// Its text.
    pub text: String,
}
