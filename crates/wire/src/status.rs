//! The status of a workload: no single word, but counts and one entry per cluster (S1-19).

use domain::cluster::Reach;
use domain::condition::Condition;
use domain::health::Health;
use domain::release::{ReleaseView, Stages, State, Sync};
use domain::rollout::Rollout;
use domain::rollup::Counts;
use domain::{ClusterId, Timestamp};
use serde::{Deserialize, Serialize};

/// How a workload does on all its clusters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Its releases by state.
    pub counts: Counts,
    /// One entry per cluster, worst first.
    pub target_clusters: Vec<TargetCluster>,
    /// How it goes through its waves, if it does not go everywhere at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

impl Status {
    /// The status made of these releases.
    pub fn of(releases: Vec<ReleaseView>, rollout: Option<Rollout>) -> Self {
        Self {
            rollout,
            counts: releases.iter().map(|release| release.state).collect(),
            target_clusters: releases.into_iter().map(TargetCluster::from).collect(),
        }
    }

    /// Whether nothing is on its way any more; what is left needs time, a person, or nothing.
    pub fn is_settled(&self) -> bool {
        let moving = self.counts.moving();
        match self.rollout.as_ref().filter(|rollout| rollout.state.is_active()) {
            None => moving == 0,
            // What clusters that wait for their turn show is what runs there until then.
            Some(rollout) => rollout.state.needs_a_person() && moving == self.counts.of(State::Pending),
        }
    }

    /// Whether clusters wait for a rollout that goes on only if a person says so.
    pub fn rollout_waits(&self) -> bool {
        self.rollout.as_ref().is_some_and(|rollout| rollout.state.needs_a_person())
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
    /// The word for people, derived from the axes.
    pub state: State,
    /// What the state was when the cluster was last heard from; only while it is offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known_state: Option<State>,
    /// First axis: whether the objects are the ones wanted.
    pub sync: Sync,
    /// Second axis: whether they are operational.
    pub health: Health,
    /// Third axis: whether the cluster is heard from.
    pub reach: Reach,
    /// The thirteen stages of the delivery, in order.
    pub stages: Stages,
    /// Why it is in this state, in a sentence.
    pub message: String,
    /// What holds it while its cluster may hold a record of it (S3-10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// All of it in the form of Kubernetes (S3-4).
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Number of the revision it should run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// When its cluster last said something about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// Since when `state` is what it is.
    pub state_since: Timestamp,
}

impl From<ReleaseView> for TargetCluster {
    fn from(view: ReleaseView) -> Self {
        Self {
            cluster_id: view.release.cluster,
            cluster_name: view.cluster_name,
            state: view.state,
            last_known_state: view.last_known_state,
            sync: view.release.sync,
            health: view.release.health,
            reach: view.release.reach,
            stages: view.release.stages,
            message: view.message,
            finalizers: view.finalizers,
            conditions: view.conditions,
            revision: view.release.revision,
            last_seen: view.release.reported_at,
            state_since: view.release.state_since,
        }
    }
}
