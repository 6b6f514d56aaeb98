//! The revisions of a deployment, as `helm history` lists them (S1-20).

use serde::{Deserialize, Serialize};

use super::{DeliveryKind, DeploymentStatus};
use crate::kubernetes::time::Timestamp;
use crate::model::operation::OperationCounts;

/// One revision of a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeploymentRevision {
    /// Its number.
    pub version: u32,
    /// When it was published.
    pub updated_at: Timestamp,
    /// `SUPERSEDED` of an earlier one that was deployed, else the worst word that is true of a cluster.
    pub status: DeploymentStatus,
    /// Version of the chart.
    pub chart_version: String,
    /// The message of its publish.
    pub description: String,
}

impl DeploymentStatus {
    /// The status of a revision. `is_current` is whether it is the published one, `counts` the outcome of its publish; without it, an
    /// earlier one is superseded, and of the current one nothing is known.
    pub fn from_publish(is_current: bool, counts: Option<&OperationCounts>, kind: DeliveryKind) -> Self {
        let Some(counts) = counts else {
            return if is_current { Self::Unknown } else { Self::Superseded };
        };
        match kind {
            _ if !is_current && counts.failed > 0 && counts.succeeded == 0 => Self::Failed,
            _ if !is_current => Self::Superseded,
            DeliveryKind::Deletion { .. } => Self::Deleting,
            _ if counts.failed > 0 => Self::Failed,
            DeliveryKind::Rollback { .. } if counts.pending + counts.running > 0 => Self::PendingRollback,
            _ if counts.pending + counts.running > 0 => Self::PendingUpgrade,
            _ if counts.deferred > 0 => Self::Unknown,
            _ => Self::Deployed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_20_an_earlier_revision_is_superseded_or_failed_and_the_current_one_has_its_worst_word() {
        let counts = |succeeded, failed, running| OperationCounts {
            succeeded,
            failed,
            running,
            ..OperationCounts::default()
        };
        let of = |is_current, counts: &OperationCounts, kind| {
            DeploymentStatus::from_publish(is_current, Some(counts), kind)
        };
        let (upgrade, rollback) = (DeliveryKind::Upgrade, DeliveryKind::Rollback { revision: 2 });
        assert_eq!(of(false, &counts(2, 1, 0), upgrade), DeploymentStatus::Superseded);
        assert_eq!(of(false, &counts(0, 2, 0), upgrade), DeploymentStatus::Failed);
        assert_eq!(of(true, &counts(2, 0, 0), upgrade), DeploymentStatus::Deployed);
        assert_eq!(of(true, &counts(1, 0, 1), upgrade), DeploymentStatus::PendingUpgrade);
        assert_eq!(of(true, &counts(1, 0, 1), rollback), DeploymentStatus::PendingRollback);
        assert_eq!(of(true, &counts(1, 1, 1), rollback), DeploymentStatus::Failed);
        let deletion = DeliveryKind::Deletion { revision: Some(2) };
        assert_eq!(of(true, &counts(2, 0, 0), deletion), DeploymentStatus::Deleting);
        let unknown = DeploymentStatus::from_publish(true, None, upgrade);
        assert_eq!(unknown, DeploymentStatus::Unknown, "nothing is recorded");
        assert_eq!(DeploymentStatus::from_publish(false, None, upgrade), DeploymentStatus::Superseded);
    }
}
