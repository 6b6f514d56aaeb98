//! The manifests of a workload as they are rendered for one cluster.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::secret::hide_values;
use crate::kubernetes::object::ObjectRef;
use crate::model::bundle::Bundle;

/// The manifests for one cluster. Values of Secrets are hidden.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RenderedManifests {
    /// Name of the cluster.
    pub cluster: String,
    /// Number of the revision; absent for the draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The objects, in the order in which they are applied.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub objects: Vec<Value>,
    /// The hooks of a chart, in the order in which they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub hooks: Vec<Value>,
}

impl RenderedManifests {
    /// The content of a bundle.
    pub fn new(cluster: &str, revision: Option<u32>, bundle: &Bundle) -> Self {
        Self {
            cluster: cluster.to_owned(),
            revision,
            objects: bundle.objects.iter().map(hide_values).collect(),
            hooks: bundle.hooks.iter().map(hide_values).collect(),
        }
    }
}

/// A new object of a group of clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedManifest {
    /// The object.
    pub object: ObjectRef,
    /// Its manifest as YAML, with the values of Secrets hidden; `None` if it is too long or its bundle is not stored any more.
    pub yaml: Option<String>,
}
