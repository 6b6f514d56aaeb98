//! Requests about placement.

use domain::placement::Placement;
use serde::{Deserialize, Serialize};

/// A placement to be tried out; nothing is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PreviewRequest {
    /// The workload that has clusters already and keeps them where it can; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The policy.
    pub placement: Placement,
}
