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
use crate::model::notification::Delivery;
use crate::model::release::{Release, ReleaseGoal, ReleaseState, StageName, StageState};

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
    /// The cluster is unreachable and completes the operation when it returns; or it is suspended, and completes it when it is
    /// resumed.
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
    /// Unreachable and suspended clusters, which complete it when they return or are resumed.
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
    /// The earlier revision whose content that one has, if the publish was a rollback to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_revision: Option<u32>,
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
    /// Of a publish: the messages about its end to the user who published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<Delivery>,
}

impl OperationView {
    /// Whether each cluster has an outcome for now.
    pub fn is_settled(&self) -> bool {
        self.target_clusters.iter().all(|target| target.status.is_settled())
    }
}

/// The cluster of a release, as the outcome of an operation depends on it.
#[derive(Debug, Clone, Copy)]
pub struct ReleaseCluster<'a> {
    /// Name of the cluster.
    pub name: &'a str,
    /// Whether the removal of the release was requested, and the placer has not started it.
    pub is_leaving: bool,
}

impl Operation {
    /// The outcome on the cluster of this release; `None` if the operation does not concern it.
    pub fn evaluate_release(&self, release: &Release, target: ReleaseCluster<'_>) -> Option<OperationTarget> {
        let (status, error) = match release.goal() {
            _ if self.is_rolled_back(release) => {
                (OperationStatus::Failed, release.rollback_cause().map(str::to_owned))
            }
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
                (OperationStatus::Deferred, Some(COMPLETES_LATER.to_owned()))
            }
            ReleaseGoal::Removing { .. } => self.evaluate_removal(release),
            ReleaseGoal::Present if self.kind == OperationKind::Sync && release.is_suspended() => {
                (OperationStatus::Deferred, Some(release.last_known_message()))
            }
            ReleaseGoal::Present if self.kind.is_removal() => (OperationStatus::Pending, None),
            ReleaseGoal::Present if self.kind == OperationKind::Sync && target.is_leaving => {
                evaluate_pending_removal(release)
            }
            ReleaseGoal::Present => self.evaluate_delivery(release),
        };
        let is_operational = matches!(release.state(), ReleaseState::Healthy | ReleaseState::NotAssessed);
        Some(OperationTarget {
            cluster_id: release.cluster(),
            cluster_name: target.name.to_owned(),
            status,
            healthy: status == OperationStatus::Succeeded && is_operational,
            error,
        })
    }

    /// Whether what it requested was rolled back there. It is the outcome of a sync too: that delivers it again, or the cluster still has not
    /// what is desired.
    fn is_rolled_back(&self, release: &Release) -> bool {
        let is_requested = self.revision.is_none() || release.revision() == self.revision;
        !self.kind.is_removal() && is_requested && release.rollback_cause().is_some()
    }

    fn evaluate_delivery(&self, release: &Release) -> (OperationStatus, Option<String>) {
        if self.revision.is_some() && release.revision() < self.revision {
            // The placer has not written it yet.
            return (OperationStatus::Pending, None);
        }
        let is_applied = release.applied().is_some() && release.applied() == release.desired();
        if is_applied && !self.is_out_of_reach(release) {
            // A sync reverts drift.
            let is_reverting = release.state() == ReleaseState::Drifted && self.awaits_report(release);
            let status = if is_reverting { OperationStatus::Running } else { OperationStatus::Succeeded };
            return (status, None);
        }
        if release.is_suspended() && !release.gate().is_ended() {
            return (OperationStatus::Deferred, Some(release.last_known_message()));
        }
        match release.state() {
            ReleaseState::Unknown => (
                OperationStatus::Deferred,
                Some("The cluster is unreachable; it applies the objects when it returns.".to_owned()),
            ),
            _ if release.gate().is_ended() => (OperationStatus::Failed, Some(release.message())),
            ReleaseState::Failed | ReleaseState::Blocked | ReleaseState::Degraded => {
                self.settle_failure(release, Some(release.message()))
            }
            ReleaseState::Pending | ReleaseState::Queued | ReleaseState::Suspended => {
                (OperationStatus::Pending, Some(release.message()).filter(|text| !text.is_empty()))
            }
            _ => (OperationStatus::Running, None),
        }
    }

    fn evaluate_removal(&self, release: &Release) -> (OperationStatus, Option<String>) {
        if release.is_suspended() {
            return (OperationStatus::Deferred, Some(release.last_known_message()));
        }
        if release.connectivity() == Connectivity::Offline {
            return (OperationStatus::Deferred, Some(COMPLETES_LATER.to_owned()));
        }
        match &release.stages().get(StageName::Pruned).state {
            StageState::Failed(reason) => self.settle_failure(release, Some(reason.text().to_owned())),
            _ => (OperationStatus::Running, None),
        }
    }

    /// A failure that was reported before a sync is not its outcome: the cluster tries again.
    fn settle_failure(&self, release: &Release, why: Option<String>) -> (OperationStatus, Option<String>) {
        if self.awaits_report(release) {
            (OperationStatus::Running, None)
        } else {
            (OperationStatus::Failed, why)
        }
    }

    /// Whether the cluster has yet to report on this sync: what is known of it is older. A release that the cluster was never
    /// sent is not reported on.
    fn awaits_report(&self, release: &Release) -> bool {
        let is_sent = release.released().is_some() || matches!(release.goal(), ReleaseGoal::Removing { .. });
        self.kind == OperationKind::Sync && is_sent && !self.is_confirmed(release)
    }

    /// Whether the cluster has reported on the release since the operation was requested.
    fn is_confirmed(&self, release: &Release) -> bool {
        release.reported_at().is_some_and(|at| at >= self.started_at)
    }

    /// Whether nothing is known of the cluster since the operation was requested: a publish also counts for a cluster that had the
    /// desired objects and went offline later, a sync for those only that compared them.
    fn is_out_of_reach(&self, release: &Release) -> bool {
        release.connectivity() == Connectivity::Offline
            && !self.is_confirmed(release)
            && (self.kind == OperationKind::Sync || release.state_since() <= self.started_at)
    }
}

/// Why the outcome of a removal is deferred on a cluster that is unreachable.
pub const COMPLETES_LATER: &str = "The cluster is unreachable; it completes the removal when it returns.";

/// The outcome while the removal waits for the placer.
fn evaluate_pending_removal(release: &Release) -> (OperationStatus, Option<String>) {
    if release.connectivity() == Connectivity::Offline {
        return (OperationStatus::Deferred, Some(COMPLETES_LATER.to_owned()));
    }
    (OperationStatus::Running, None)
}

#[cfg(test)]
mod tests;
