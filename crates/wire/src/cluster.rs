//! Requests about clusters.

use serde::{Deserialize, Serialize};

pub use domain::request::ClusterPatch;

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
