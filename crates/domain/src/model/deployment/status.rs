//! The status words of a deployment (S1-20).

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::model::cluster::Connectivity;
use crate::model::release::{Release, ReleaseGoal, ReleaseState};

/// The status word of a deployment on one cluster, or of one of its revisions (S1-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DeploymentStatus {
    /// The cluster is unreachable.
    #[serde(rename = "UNKNOWN")]
    Unknown,
    /// Nothing is applied, and nothing is in progress.
    #[serde(rename = "NOT INSTALLED")]
    NotInstalled,
    /// Another chart version or other values are applied, or the cluster left the group.
    #[serde(rename = "STALE")]
    Stale,
    /// The cluster was deleted while the deployment was on it.
    #[serde(rename = "STALE - cluster not found")]
    ClusterNotFound,
    /// The desired chart and values are applied. It says nothing of health.
    #[serde(rename = "DEPLOYED")]
    Deployed,
    /// The last attempt failed.
    #[serde(rename = "FAILED")]
    Failed,
    /// Being applied for the first time.
    #[serde(rename = "PENDING_INSTALL")]
    PendingInstall,
    /// Being applied over an earlier revision.
    #[serde(rename = "PENDING_UPGRADE")]
    PendingUpgrade,
    /// An earlier revision is being applied again: a user requested it, or the one after it failed on the cluster.
    #[serde(rename = "PENDING_ROLLBACK")]
    PendingRollback,
    /// Being removed.
    #[serde(rename = "DELETING")]
    Deleting,
    /// Removed from the cluster, while the deployment is being removed from others.
    #[serde(rename = "DELETED")]
    Deleted,
    /// Of a revision: a later one has replaced it.
    #[serde(rename = "SUPERSEDED")]
    Superseded,
}

/// What is being done with a deployment as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeliveryKind {
    /// Its published revision is applied.
    #[default]
    Upgrade,
    /// Its published revision, which has the content of an earlier one, is applied.
    Rollback {
        /// The number of the published revision.
        revision: u32,
    },
    /// It is being deleted.
    Deletion {
        /// The number of the last published revision.
        revision: Option<u32>,
    },
}

impl DeploymentStatus {
    /// The status of a release; `None` if it is removed, and neither its deletion nor the rollback of its first installation is the reason.
    pub fn from_release(release: &Release, kind: DeliveryKind) -> Option<Self> {
        let is_deleting = matches!(kind, DeliveryKind::Deletion { .. });
        // One that left the group has no wave.
        let is_rolled_back = !is_deleting && release.wave().is_some() && release.rollback_cause().is_some();
        Some(match release.goal() {
            ReleaseGoal::Removed { .. } if is_deleted(release, kind) => Self::Deleted,
            ReleaseGoal::Removed { .. } | ReleaseGoal::Orphaned { .. } | ReleaseGoal::Abandoned { .. }
                if !is_rolled_back =>
            {
                return None;
            }
            _ if release.connectivity() == Connectivity::Offline => Self::Unknown,
            ReleaseGoal::Removed { .. } | ReleaseGoal::Orphaned { .. } | ReleaseGoal::Abandoned { .. } => {
                Self::NotInstalled
            }
            ReleaseGoal::Removing { .. } if release.state() == ReleaseState::Failed => Self::Failed,
            ReleaseGoal::Removing { .. } if is_deleting || is_rolled_back => Self::Deleting,
            ReleaseGoal::Removing { .. } => Self::Stale,
            ReleaseGoal::Present => Self::from_present(release, kind),
        })
    }

    /// The status of a release that is not being removed, on a reachable cluster.
    fn from_present(release: &Release, kind: DeliveryKind) -> Self {
        let is_installed = release.applied().is_some();
        match release.state() {
            _ if release.is_rolling_back() => Self::PendingRollback,
            _ if is_installed && release.applied() == release.desired() => Self::Deployed,
            ReleaseState::Failed | ReleaseState::Blocked => Self::Failed,
            ReleaseState::Pulling | ReleaseState::Applying | ReleaseState::Progressing if is_installed => {
                match kind {
                    DeliveryKind::Rollback { revision } if release.revision() == Some(revision) => {
                        Self::PendingRollback
                    }
                    _ => Self::PendingUpgrade,
                }
            }
            ReleaseState::Pulling | ReleaseState::Applying | ReleaseState::Progressing => {
                Self::PendingInstall
            }
            _ if is_installed => Self::Stale,
            _ => Self::NotInstalled,
        }
    }
}

/// Whether a removed release is one that the deletion of its deployment removed: it had its last revision.
fn is_deleted(release: &Release, kind: DeliveryKind) -> bool {
    match kind {
        DeliveryKind::Deletion { revision } => revision.is_some() && release.revision() == revision,
        _ => false,
    }
}
