//! Requests about clusters.

use std::collections::BTreeMap;

use domain::cluster::Taint;
use serde::{Deserialize, Serialize};

/// What an edit of a cluster changes; parts left out stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterPatch {
    /// Labels to set; `null` as a value removes the label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// All its taints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// Whether it takes new workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedulable: Option<bool>,
}

/// What to break on a simulated cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BreakRequest {
    /// The workload whose objects are meant; not needed for what concerns the cluster as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// What to do.
    #[serde(flatten)]
    pub breakage: Breakage,
}

/// One way to break something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Breakage {
    /// Deletes one object of the workload.
    DeleteObject,
    /// Changes the number of replicas, as somebody with `kubectl scale` would.
    ChangeReplicas,
    /// Changes an image, as somebody with `kubectl set image` would.
    ChangeImage,
    /// The cluster is no longer reached.
    Offline,
    /// The cluster is reached again.
    Online,
    /// Every answer of the cluster takes this long.
    Slow {
        /// Milliseconds; 0 ends it.
        millis: u32,
    },
}
