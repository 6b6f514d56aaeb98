//! The status of a workload: counts and one entry per cluster instead of a single state (S1-19).

use domain::cluster::Connectivity;
use domain::condition::Condition;
use domain::health::Health;
use domain::release::{ReleaseState, ReleaseView, Stages, SyncStatus};
use domain::rollout::Rollout;
use domain::rollup::ReleaseCounts;
use domain::workload::{DriftPolicy, WorkloadFailure};
use domain::{ClusterId, Timestamp};
use serde::{Deserialize, Serialize};

/// The status of a workload on all its clusters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// Its releases by state.
    pub counts: ReleaseCounts,
    /// One entry per cluster, worst first.
    pub target_clusters: Vec<TargetCluster>,
    /// Its rollout, if the revision is published in waves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// What the hub failed to do for it; retried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<WorkloadFailure>,
}

impl WorkloadStatus {
    /// The status of these releases.
    pub fn from_releases(
        releases: Vec<ReleaseView>,
        rollout: Option<Rollout>,
        failures: Vec<WorkloadFailure>,
    ) -> Self {
        Self {
            rollout,
            failures,
            counts: releases.iter().map(|release| release.state).collect(),
            target_clusters: releases.into_iter().map(TargetCluster::from).collect(),
        }
    }

    /// Whether no release is in progress; what remains needs time, a person, or nothing.
    pub fn is_settled(&self) -> bool {
        let moving = self.counts.in_progress();
        match self.rollout.as_ref().filter(|rollout| rollout.state.is_active()) {
            None => moving == 0,
            // Gated clusters are pending and still run their applied revision.
            Some(rollout) => {
                rollout.state.needs_attention() && moving == self.counts.count(ReleaseState::Pending)
            }
        }
    }

    /// Whether the rollout waits for a person, or for clusters that may never return.
    pub fn is_rollout_waiting(&self) -> bool {
        self.rollout.as_ref().is_some_and(|rollout| rollout.state.needs_attention())
    }
}

/// A workload on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TargetCluster {
    /// The cluster.
    pub cluster_id: ClusterId,
    /// Its name.
    pub cluster_name: String,
    /// The state, derived from the three axes.
    pub state: ReleaseState,
    /// The state at the cluster's last report; only while the cluster is offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known_state: Option<ReleaseState>,
    /// First axis: whether the objects match the desired state.
    pub sync: SyncStatus,
    /// Second axis: whether they are operational.
    pub health: Health,
    /// Third axis: whether the cluster is connected.
    pub connectivity: Connectivity,
    /// What is done about drift there.
    #[serde(default)]
    pub drift_policy: DriftPolicy,
    /// The thirteen stages of the delivery, in order.
    pub stages: Stages,
    /// Why it is in this state.
    pub message: String,
    /// What a publish would change there because the facts of the cluster have changed since it was rendered; empty if nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub facts_notice: String,
    /// When it is past the deadline of its policies; absent without one, while nothing is delivered, and once it is operational.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// Finalizers that remain while its cluster may have a record of it (S3-10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// The same as Kubernetes conditions (S3-4).
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Number of the revision it should run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// When its cluster last reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// When `state` last changed.
    pub state_since: Timestamp,
}

impl From<ReleaseView> for TargetCluster {
    fn from(view: ReleaseView) -> Self {
        Self {
            cluster_id: view.release.cluster(),
            cluster_name: view.cluster_name,
            state: view.state,
            last_known_state: view.last_known_state,
            sync: view.release.sync(),
            health: view.release.health().clone(),
            connectivity: view.release.connectivity(),
            drift_policy: view.release.policies().drift,
            stages: view.release.stages().clone(),
            message: view.message,
            facts_notice: view.release.facts_notice().to_owned(),
            deadline_at: view.release.deadline_at(),
            finalizers: view.finalizers,
            conditions: view.conditions,
            revision: view.release.revision(),
            last_seen: view.release.reported_at(),
            state_since: view.release.state_since(),
        }
    }
}
