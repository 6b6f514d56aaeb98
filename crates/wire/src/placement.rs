//! Requests about placement.

use domain::labels::LabelSelector;
use domain::placement::{ClusterGroup, Placement};
use serde::{Deserialize, Serialize};

/// A placement to evaluate; nothing is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PreviewRequest {
    /// The workload whose current clusters are preferred; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The policy.
    pub placement: Placement,
}

/// A cluster group: members by name, by labels, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterGroupPut {
    /// Names of its static members; they may be clusters that have not joined yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Additionally every cluster with these labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Whether its clusters, by name and by selector, may be in no other group; without it, a stored group stays what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<bool>,
    /// Values that charts have on these clusters, whatever a workload or an override sets, as YAML.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub locked_values: String,
}

impl From<ClusterGroup> for ClusterGroupPut {
    /// What a client may change of a group.
    fn from(group: ClusterGroup) -> Self {
        let ClusterGroup { members, selector, exclusive, locked_values, .. } = group;
        Self { members, selector, exclusive: Some(exclusive), locked_values }
    }
}
