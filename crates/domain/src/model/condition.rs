//! Conditions in the form of Kubernetes (S3-4, S3-5).

use serde::{Deserialize, Serialize};

use crate::kubernetes::time::Timestamp;

/// The type of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ConditionType {
    /// The placement selected the cluster.
    Scheduled,
    /// The manifests are rendered for the cluster.
    Rendered,
    /// The revision is released to the cluster.
    Released,
    /// The agent has pulled the bundle.
    Synchronized,
    /// Everything is applied, as of the observed generation (S3-4).
    Applied,
    /// Every object exists on the cluster, whatever its health (S3-4).
    Available,
    /// It is on its way to the desired state.
    Progressing,
    /// Something is broken or missing, or a stage failed.
    Degraded,
    /// Operational.
    Healthy,
    /// Nothing of earlier revisions is left.
    Pruned,
    /// The live objects match what was applied.
    NotDrifted,
    /// Applied fields were changed on the cluster; a condition of objects only.
    Drifted,
    /// The hub receives heartbeats from the cluster.
    Reachable,
    /// Everything that runs in it has completed; it is not applied again.
    Complete,
    /// It is being removed.
    Deleting,
}

/// The status of a condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// It is not known whether the condition holds.
    #[default]
    Unknown,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Its status.
    pub status: ConditionStatus,
    /// CamelCase reason; never empty.
    pub reason: String,
    /// A sentence for people; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The generation of the release that it was observed for; absent until the cluster reports the current generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the status last changed, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
}

impl Condition {
    /// A condition without generation and time.
    pub(crate) fn new(
        kind: ConditionType,
        is: impl Into<ConditionStatus>,
        reason: &str,
        message: &str,
    ) -> Self {
        Self {
            kind,
            status: is.into(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: None,
            last_transition_time: None,
        }
    }

    /// The same condition, with the time of the last change of its status.
    pub(crate) fn with_transition_time(self, at: Option<Timestamp>) -> Self {
        Self { last_transition_time: at, ..self }
    }

    /// Whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

impl From<bool> for ConditionStatus {
    fn from(is: bool) -> Self {
        if is { Self::True } else { Self::False }
    }
}

impl From<Option<bool>> for ConditionStatus {
    fn from(is: Option<bool>) -> Self {
        is.map_or(Self::Unknown, Self::from)
    }
}
