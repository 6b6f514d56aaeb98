//! Requests about clusters.

use std::collections::BTreeMap;

use domain::cluster::Taint;
use serde::{Deserialize, Serialize};

/// Changes to a cluster; omitted fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterPatch {
    /// Labels to set; `null` as a value removes the label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// The complete list of taints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// Whether new workloads may be placed on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedulable: Option<bool>,
}

/// A fault to inject into a simulated cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FaultRequest {
    /// The workload whose objects are affected; may be empty for faults of the whole cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The fault.
    #[serde(flatten)]
    pub fault: ClusterFault,
}

/// A fault of a simulated cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ClusterFault {
    /// Deletes one object of the workload.
    DeleteObject,
    /// Changes the number of replicas, like `kubectl scale`.
    ChangeReplicas,
    /// Changes an image, like `kubectl set image`.
    ChangeImage,
    /// The cluster becomes unreachable.
    Offline,
    /// The cluster becomes reachable again.
    Online,
    /// Delays every response of the cluster.
    Slow {
        /// Milliseconds; 0 ends the delay.
        millis: u32,
    },
}
