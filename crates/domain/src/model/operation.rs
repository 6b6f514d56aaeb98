//! Operations: what a person requested for a workload, with its outcome on each cluster (S1-13).
//!
//! The outcome of an operation is not the state of a release: a release that degrades later was published successfully. While
//! an operation is the latest one of its workload, its outcome is derived from the releases; when the next one starts, the
//! outcome at that time is stored.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::{ClusterId, OperationId};
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::Connectivity;
use crate::model::release::{Gate, Release, ReleaseGoal, ReleaseState, StageName, StageState};

/// What was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum OperationKind {
    /// A revision was published.
    Publish,
    /// A sync was requested.
    Sync,
    /// The workload was unpublished.
    Unpublish,
    /// The workload was deleted.
    Delete,
}

impl OperationKind {
    /// Every value.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Publish => "Publish",
            Self::Sync => "Sync",
            Self::Unpublish => "Unpublish",
            Self::Delete => "Delete",
        }
    }

    /// Whether it removes the workload from its clusters.
    const fn is_removal(self) -> bool {
        matches!(self, Self::Unpublish | Self::Delete)
    }
}

/// The outcome of an operation on one cluster, least advanced first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum OperationStatus {
    /// The cluster has not started.
    Pending,
    /// In progress.
    Running,
    /// Completed: objects are applied, or removed. It does not say whether they are healthy.
    Succeeded,
    /// Failed; it is retried without limit, so it may still succeed.
    Failed,
    /// The cluster is unreachable; it completes the operation when it returns.
    Deferred,
}

impl OperationStatus {
    /// The name, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The name in a sentence, after a number.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Deferred => "deferred",
        }
    }

    /// Whether nothing more is expected at the moment.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Deferred)
    }
}

/// The outcome of an operation on one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperationTarget {
    /// Id of the cluster.
    pub cluster_id: ClusterId,
    /// Name of the cluster.
    pub cluster_name: String,
    /// The outcome.
    pub status: OperationStatus,
    /// Whether the release was operational; false if that was not recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub healthy: bool,
    /// Why it failed, is deferred or waits, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How many clusters have each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperationCounts {
    /// Clusters that have not started.
    pub pending: u32,
    /// Clusters in progress.
    pub running: u32,
    /// Clusters that completed it.
    pub succeeded: u32,
    /// Those of them whose release was operational; `None` if that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy: Option<u32>,
    /// Clusters where it failed.
    pub failed: u32,
    /// Unreachable clusters, which complete it when they return.
    pub deferred: u32,
}

impl OperationCounts {
    /// Counts the outcomes.
    pub fn from_targets(targets: &[OperationTarget]) -> Self {
        let healthy = targets.iter().filter(|target| target.healthy).count();
        let mut counts = Self { healthy: u32::try_from(healthy).ok(), ..Self::default() };
        for target in targets {
            let count = match target.status {
                OperationStatus::Pending => &mut counts.pending,
                OperationStatus::Running => &mut counts.running,
                OperationStatus::Succeeded => &mut counts.succeeded,
                OperationStatus::Failed => &mut counts.failed,
                OperationStatus::Deferred => &mut counts.deferred,
            };
            *count += 1;
        }
        counts
    }

    /// The number of each outcome, in the order in which they are displayed.
    pub const fn parts(&self) -> [(OperationStatus, u32); 5] {
        [
            (OperationStatus::Succeeded, self.succeeded),
            (OperationStatus::Running, self.running),
            (OperationStatus::Pending, self.pending),
            (OperationStatus::Deferred, self.deferred),
            (OperationStatus::Failed, self.failed),
        ]
    }

    /// Whether the release was operational on every cluster.
    pub const fn is_healthy(&self) -> bool {
        matches!(self.healthy, Some(healthy) if healthy > 0 && healthy == self.total())
    }

    /// Number of clusters.
    pub const fn total(&self) -> u32 {
        self.pending + self.running + self.succeeded + self.failed + self.deferred
    }
}

/// An operation, without its clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// Name of the workload; it may be deleted.
    pub workload: String,
    /// What was requested.
    pub kind: OperationKind,
    /// The published revision; `None` for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Who requested it.
    pub actor: String,
    /// When it was requested.
    pub started_at: Timestamp,
    /// When the next operation started or the workload was gone: the outcome is that of then. `None` while it is the
    /// latest operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// Its clusters by outcome.
    pub counts: OperationCounts,
}

/// An operation with its outcome on each cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperationView {
    /// The operation.
    #[serde(flatten)]
    pub operation: Operation,
    /// Its clusters, by name.
    pub target_clusters: Vec<OperationTarget>,
}

impl OperationView {
    /// Whether each cluster has an outcome for now.
    pub fn is_settled(&self) -> bool {
        self.target_clusters.iter().all(|target| target.status.is_settled())
    }
}

impl Operation {
    /// The outcome on the cluster of this release; `None` if the operation does not concern it.
    pub fn evaluate_release(&self, release: &Release, cluster_name: &str) -> Option<OperationTarget> {
        let (status, error) = match release.goal() {
            ReleaseGoal::Removed { since } | ReleaseGoal::Orphaned { since } => {
                // Removed by an earlier operation.
                if *since < self.started_at {
                    return None;
                }
                (OperationStatus::Succeeded, None)
            }
            ReleaseGoal::Abandoned { since } => {
                if *since < self.started_at {
                    return None;
                }
                let why = "The cluster is unreachable; it removes the objects when it returns.";
                (OperationStatus::Deferred, Some(why.to_owned()))
            }
            ReleaseGoal::Removing { .. } => evaluate_removal(release),
            ReleaseGoal::Present if self.kind.is_removal() => (OperationStatus::Pending, None),
            ReleaseGoal::Present => self.evaluate_delivery(release),
        };
        let is_operational = matches!(release.state(), ReleaseState::Healthy | ReleaseState::NotAssessed);
        Some(OperationTarget {
            cluster_id: release.cluster(),
            cluster_name: cluster_name.to_owned(),
            status,
            healthy: status == OperationStatus::Succeeded && is_operational,
            error,
        })
    }

    fn evaluate_delivery(&self, release: &Release) -> (OperationStatus, Option<String>) {
        if self.revision.is_some() && release.revision() < self.revision {
            // The placer has not written it yet.
            return (OperationStatus::Pending, None);
        }
        if release.applied().is_some() && release.applied() == release.desired() {
            return (OperationStatus::Succeeded, None);
        }
        match release.state() {
            ReleaseState::Unknown => (
                OperationStatus::Deferred,
                Some("The cluster is unreachable; it applies the objects when it returns.".to_owned()),
            ),
            ReleaseState::Failed | ReleaseState::Blocked | ReleaseState::Degraded => {
                (OperationStatus::Failed, Some(release.message()))
            }
            _ if release.gate() == Gate::Aborted => (OperationStatus::Failed, Some(release.message())),
            ReleaseState::Pending | ReleaseState::Queued | ReleaseState::Suspended => {
                (OperationStatus::Pending, Some(release.message()).filter(|text| !text.is_empty()))
            }
            _ => (OperationStatus::Running, None),
        }
    }
}

fn evaluate_removal(release: &Release) -> (OperationStatus, Option<String>) {
    if release.connectivity() == Connectivity::Offline {
        let why = "The cluster is unreachable; it removes the objects when it returns.";
        return (OperationStatus::Deferred, Some(why.to_owned()));
    }
    match &release.stages().get(StageName::Pruned).state {
        StageState::Failed(reason) => (OperationStatus::Failed, Some(reason.text().to_owned())),
        _ => (OperationStatus::Running, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::digest::Digest;
    use crate::kubernetes::id::{ReleaseId, WorkloadId};
    use crate::model::policy::{DeletionPolicy, Policies};
    use crate::model::release::RenderOutcome;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn operation(kind: OperationKind, revision: Option<u32>, started_at: i64) -> Operation {
        Operation {
            id: OperationId::from_parts(1, 1),
            workload: "web".to_owned(),
            kind,
            revision,
            actor: "ann".to_owned(),
            started_at: at(started_at),
            closed_at: None,
            counts: OperationCounts::default(),
        }
    }

    fn release() -> Release {
        let (id, workload) = (ReleaseId::from_parts(1, 1), WorkloadId::from_parts(1, 1));
        let mut release = Release::new(id, workload, ClusterId::from_parts(1, 1), at(0));
        release.set_connectivity(Connectivity::Online, at(0));
        let bundle = RenderOutcome::Bundle(Digest::compute(b"one"));
        release.set_desired_revision(1, bundle, Policies::default(), at(0));
        release
    }

    fn status(operation: &Operation, release: &Release) -> Option<OperationStatus> {
        operation.evaluate_release(release, "eu").map(|target| target.status)
    }

    #[test]
    fn s1_13_a_publish_is_pending_until_the_placer_wrote_it_and_deferred_while_the_cluster_is_offline() {
        let mut release = release();
        assert_eq!(
            status(&operation(OperationKind::Publish, Some(2), 1), &release),
            Some(OperationStatus::Pending)
        );
        let first = operation(OperationKind::Publish, Some(1), 0);
        assert_eq!(status(&first, &release), Some(OperationStatus::Pending), "queued");
        release.set_connectivity(Connectivity::Offline, at(1));
        let target = first.evaluate_release(&release, "eu").unwrap();
        assert_eq!(target.status, OperationStatus::Deferred);
        assert!(target.error.unwrap().contains("unreachable"));
    }

    #[test]
    fn s1_13_a_removal_of_an_earlier_operation_is_none_of_a_later_one() {
        let mut release = release();
        release.remove(DeletionPolicy::Foreground, "unpublished", at(5));
        let delete = operation(OperationKind::Delete, None, 5);
        assert_eq!(status(&delete, &release), Some(OperationStatus::Running));
        release.set_connectivity(Connectivity::Offline, at(6));
        assert_eq!(status(&delete, &release), Some(OperationStatus::Deferred));
        release.abandon(at(7));
        assert_eq!(status(&delete, &release), Some(OperationStatus::Deferred));
        assert_eq!(status(&operation(OperationKind::Publish, Some(2), 9), &release), None);
    }
}
