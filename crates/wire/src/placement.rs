//! Requests about placement.

use domain::labels::Selector;
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

/// What a cluster group is: members by name, by labels, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GroupPut {
    /// Names of its static members; they may join later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// And every cluster with these labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
}
