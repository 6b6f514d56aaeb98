//! The faults that a demo can inject into its simulated clusters.

use serde::{Deserialize, Serialize};

/// A fault to inject, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DemoAction {
    /// Delete an applied object.
    DeleteObject,
    /// Change the replicas of a Deployment by hand.
    ChangeReplicas,
    /// Change an image by hand.
    ChangeImage,
    /// Make its image missing, and delete its pods.
    FailImagePulls,
    /// Make its containers crash.
    CrashContainers,
    /// End both.
    RestoreImage,
    /// Disconnect the cluster.
    Disconnect,
    /// Reconnect the cluster.
    Reconnect,
}

impl DemoAction {
    /// All of them, in the order shown: first those of a workload.
    pub const ALL: [Self; 8] = [
        Self::DeleteObject,
        Self::ChangeReplicas,
        Self::ChangeImage,
        Self::FailImagePulls,
        Self::CrashContainers,
        Self::RestoreImage,
        Self::Disconnect,
        Self::Reconnect,
    ];

    /// The value of its button.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::DeleteObject => "deleteObject",
            Self::ChangeReplicas => "changeReplicas",
            Self::ChangeImage => "changeImage",
            Self::FailImagePulls => "failImagePulls",
            Self::CrashContainers => "crashContainers",
            Self::RestoreImage => "restoreImage",
            Self::Disconnect => "disconnect",
            Self::Reconnect => "reconnect",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slug_equals_the_serialized_action() {
        for action in DemoAction::ALL {
            assert_eq!(serde_json::to_string(&action).unwrap(), format!("{:?}", action.slug()));
        }
    }
}
