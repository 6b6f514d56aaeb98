//! Requests on the project.

use domain::project::PublishApproval;
use serde::{Deserialize, Serialize};

/// What a client may change of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ProjectPut {
    /// Values that charts have on every cluster, whatever a workload, an override or a cluster group sets, as YAML.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub locked_values: String,
    /// Whether a publish has to be approved; absent to leave it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_approval: Option<PublishApproval>,
}
