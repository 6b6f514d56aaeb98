//! Requests about clusters.

use serde::{Deserialize, Serialize};

pub use domain::request::ClusterPatch;

/// What a change of a cluster would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterPreview {
    /// Names of the workloads that would leave the cluster, sorted; without those that leave it already.
    pub leaving: Vec<String>,
    /// How long each stays after the change, in minutes.
    pub removal_notice_minutes: i64,
}

/// A fault to inject into a simulated cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", try_from = "FaultFields")]
pub struct FaultRequest {
    /// The workload whose objects are affected; may be empty for faults of the whole cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The fault.
    #[serde(flatten)]
    pub fault: ClusterFault,
}

/// A fault of a simulated cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ClusterFault {
    /// Deletes one object of the workload.
    DeleteObject,
    /// Changes the number of replicas, like `kubectl scale`.
    ChangeReplicas,
    /// Changes an image, like `kubectl set image`.
    ChangeImage,
    /// Deletes the pods of a Deployment; the image of new ones can't be pulled.
    FailImagePulls,
    /// Deletes the pods of a Deployment; the containers of new ones exit soon after they start.
    CrashContainers,
    /// Ends `failImagePulls` and `crashContainers`.
    RestoreImage,
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

/// The fields of a fault as they stand in text: in one struct, so that unknown ones are found.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FaultFields {
    #[serde(default)]
    workload: String,
    #[serde(rename = "type")]
    fault_type: String,
    millis: Option<u32>,
}

impl TryFrom<FaultFields> for FaultRequest {
    type Error = String;

    fn try_from(fields: FaultFields) -> Result<Self, String> {
        let fault = match (&*fields.fault_type, fields.millis) {
            ("deleteObject", None) => ClusterFault::DeleteObject,
            ("changeReplicas", None) => ClusterFault::ChangeReplicas,
            ("changeImage", None) => ClusterFault::ChangeImage,
            ("failImagePulls", None) => ClusterFault::FailImagePulls,
            ("crashContainers", None) => ClusterFault::CrashContainers,
            ("restoreImage", None) => ClusterFault::RestoreImage,
            ("offline", None) => ClusterFault::Offline,
            ("online", None) => ClusterFault::Online,
            ("slow", Some(millis)) => ClusterFault::Slow { millis },
            ("slow", None) => return Err("the fault slow has millis".to_owned()),
            (other, None) => return Err(format!("there is no fault {other:?}")),
            (_, Some(_)) => return Err("only the fault slow has millis".to_owned()),
        };
        Ok(Self { workload: fields.workload, fault })
    }
}
