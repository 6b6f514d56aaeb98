//! The project: what holds for all its workloads (S2-8).

use serde::{Deserialize, Serialize};

/// A project. There is one so far, `default`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its name.
    pub name: String,
    /// Values that charts have on every cluster, whatever a workload, an override or a cluster group sets, as YAML with its comments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub locked_values: String,
    /// Grows with every change; the `ETag`.
    #[serde(default)]
    pub revision: i64,
}
