//! Tombstones: what a cluster still has to remove after its release was given up (S1-23, P3).

use super::{Release, ReleaseGoal};
use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::kubernetes::time::Timestamp;
use crate::model::policy::{DeletionPolicy, Policies};
use crate::model::report::{DesiredPhase, DesiredRelease};

/// A release that was given up without its cluster's confirmation. It outlives release, workload and cluster: when the
/// cluster returns, the removal is part of its desired state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The release; the same id as in the record on the cluster.
    pub release: ReleaseId,
    /// The workload, which may be deleted.
    pub workload: WorkloadId,
    /// Its name.
    pub workload_name: String,
    /// The cluster that has to remove it. If it was deleted, the cluster that reports the record.
    pub cluster: ClusterId,
    /// Its name at that time.
    pub cluster_name: String,
    /// Greater than every generation that the cluster received.
    pub generation: i64,
    /// Whether the objects are deleted or stay.
    pub deletion: DeletionPolicy,
    /// The last policies of the release.
    pub policies: Policies,
    /// Who gave it up.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
}

impl Tombstone {
    /// The removal, as a part of the desired state of its cluster.
    pub fn desired_release(&self) -> DesiredRelease {
        DesiredRelease {
            release: self.release,
            workload: self.workload_name.clone(),
            generation: self.generation,
            sync_nonce: 0,
            phase: DesiredPhase::Absent { deletion: self.deletion, policies: self.policies.clone() },
        }
    }
}

impl Release {
    /// The tombstone of this release if it is given up now, by a user at an instant; `None` if its cluster has nothing of it,
    /// or if it was given up before. `names` are those of workload and cluster.
    pub fn to_tombstone(&self, names: (&str, &str), by: &str, at: Timestamp) -> Option<Tombstone> {
        let deletion = match self.goal {
            ReleaseGoal::Removing { deletion, .. } => deletion,
            _ => self.policies.deletion,
        };
        (!self.finalizers().is_empty()).then(|| Tombstone {
            release: self.id,
            workload: self.workload,
            workload_name: names.0.to_owned(),
            cluster: self.cluster,
            cluster_name: names.1.to_owned(),
            generation: self.generation + 1,
            deletion,
            policies: self.policies.clone(),
            created_by: by.to_owned(),
            created_at: at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, bundle, new_release};
    use super::super::{RenderOutcome, SyncStatus};
    use super::*;
    use crate::model::release::ReleaseState;

    #[test]
    fn p17_a_tombstone_orders_the_removal_of_what_may_be_on_the_cluster() {
        let mut release = new_release();
        assert_eq!(release.to_tombstone(("web", "eu-1"), "ann", at(1)), None, "it was never sent");
        release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), Policies::default(), at(1));
        release.remove(DeletionPolicy::Orphan, "unpublished", at(2));
        let tombstone = release.to_tombstone(("web", "eu-1"), "ann", at(3)).unwrap();
        assert!(release.abandon(at(3)));
        assert_eq!(tombstone.generation, release.generation(), "reports about it are those of this removal");
        let desired = tombstone.desired_release();
        assert!(matches!(desired.phase, DesiredPhase::Absent { deletion: DeletionPolicy::Orphan, .. }));
        assert_eq!(release.to_tombstone(("web", "eu-1"), "ann", at(4)), None, "it has one");
        assert!(release.confirm_cleanup(DeletionPolicy::Foreground, at(5)));
        assert_eq!((release.state(), release.sync()), (ReleaseState::Removed, SyncStatus::Removed));
        assert!(!release.confirm_cleanup(DeletionPolicy::Foreground, at(6)));
    }
}
