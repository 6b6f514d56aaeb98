//! Root causes that an agent finds in the pods of an object, with what a user can do about each.

use serde::{Deserialize, Serialize};

use crate::model::health::HealthStatus;

mod image_pull_error;

pub use image_pull_error::ImagePullError;

/// The reason of a pod of an earlier revision that its controller does not replace.
pub const UPDATE_BLOCKED: &str = "UpdateBlocked";

/// Why pods do not run, aggregated over all pods of an object that have the same cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FailureCause {
    /// CamelCase reason, such as `ImagePullFailed` or `CrashLoop`; empty if only a sentence is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The health that results from it.
    pub status: HealthStatus,
    /// What fails, in a few words without the values that differ between pods: `cannot pull image nginx:9`.
    pub summary: String,
    /// The whole text that the cluster reported; empty if the summary contains all of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Name of an affected pod, the first in the order of names; empty if it is unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pod: String,
    /// Name of the affected container; empty if the pod as a whole is affected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// Highest number of restarts of an affected container.
    #[serde(skip_serializing_if = "is_zero")]
    pub restarts: u32,
    /// Number of affected pods.
    pub pods: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl FailureCause {
    /// A cause of which only a sentence is known.
    pub fn from_sentence(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), pods: 1, ..Self::default() }
    }

    /// One line for people: the container, what fails, the restarts, and the number of pods if there are several.
    pub fn message(&self) -> String {
        let container = match self.container.as_str() {
            "" => String::new(),
            name => format!("container {name} "),
        };
        let pods = if self.pods > 1 { format!(" ({} pods)", self.pods) } else { String::new() };
        format!("{container}{}{pods}", self.summary_with_restarts())
    }

    /// What fails, and how often the container was restarted.
    pub fn summary_with_restarts(&self) -> String {
        match self.restarts {
            0 => self.summary.clone(),
            1 => format!("{}, 1 restart", self.summary),
            n => format!("{}, {n} restarts", self.summary),
        }
    }

    /// Whether an image can't be pulled.
    pub fn is_image_failure(&self) -> bool {
        matches!(self.reason.as_str(), "ImagePullFailed" | "InvalidImageName")
    }

    /// What a user can do about it; `None` for a reason without advice.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self.reason.as_str() {
            "ImagePullFailed" => match ImagePullError::from_message(&self.detail) {
                Some(error) => error.remedy(),
                None => {
                    "The registry's message has the reason. Correct the image, or what the message names; the pull is retried automatically."
                }
            },
            "InvalidImageName" => "Correct the name of the image in the draft, then publish.",
            "CrashLoop" => {
                "The container starts and exits. Correct its image, command or configuration in the draft, then publish."
            }
            "OOMKilled" => "Raise the memory limit of the container, or let it use less memory.",
            "ContainerConfigError" => {
                "Add the ConfigMap, Secret or key to the workload, or create it on the cluster: the container then starts without a publish."
            }
            "ContainerStartFailed" => {
                "Correct the command, the arguments or the volume mounts of the container in the draft, then publish."
            }
            "Unschedulable" => {
                "Lower the requests, relax node selector and tolerations, give the cluster more nodes, or exclude it in the placement."
            }
            "VolumePending" => "Check the storage class of the claim and its provisioner on the cluster.",
            "SchedulingGated" => "The controller that set the scheduling gate has to remove it.",
            "FailedMount" => {
                "Create the ConfigMap, Secret or volume on the cluster, or correct its name in the draft."
            }
            "FailedSandbox" => {
                "Check the network plugin of the node: the cluster can't set up the network of the pod."
            }
            "ProbeFailed" => {
                "Correct the path, the port or the delay of the probe, or what the container answers to it."
            }
            UPDATE_BLOCKED => {
                "Delete the pod on the cluster: its controller creates it again from the desired revision. A StatefulSet that starts its pods in order waits until each pod is ready, also one of a revision that was rolled back."
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_survives_serialization() {
        let cause = FailureCause {
            reason: "CrashLoop".to_owned(),
            status: HealthStatus::Degraded,
            summary: "exits with 1".to_owned(),
            detail: "panic".to_owned(),
            pod: "web-1".to_owned(),
            container: "web".to_owned(),
            restarts: 3,
            pods: 2,
        };
        let text = serde_json::to_string(&cause).unwrap();
        assert_eq!(serde_json::from_str::<FailureCause>(&text).unwrap(), cause);
        assert_eq!(cause.message(), "container web exits with 1, 3 restarts (2 pods)");
    }
}
