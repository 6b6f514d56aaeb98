//! One cluster of a rollout: its wave, and what became of the revision there.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{StateCount, WaveCounts};
use crate::kubernetes::time::Timestamp;
use crate::model::page::ListQuery;
use crate::model::release::{Gate, ReleaseState};

/// What a rollout counts a cluster as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum RolloutClusterStatus {
    /// Its wave has not admitted it.
    Waiting,
    /// Offline since before its admission, or waiting for a value or another workload.
    Deferred,
    /// Being updated.
    InProgress,
    /// Changed on the cluster after it was updated.
    Drifted,
    /// Operational.
    Operational,
    /// Failing.
    Failing,
    /// Offline since its admission: it is not known what runs there.
    Silent,
    /// It got back what it ran before, or its first installation was removed.
    RolledBack,
    /// The rollout ended before its wave admitted it.
    NotStarted,
}

impl RolloutClusterStatus {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The label shown to people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Deferred => "Deferred",
            Self::InProgress => "In progress",
            Self::Drifted => "Drifted",
            Self::Operational => "Operational",
            Self::Failing => "Failing",
            Self::Silent => "Offline since the update",
            Self::RolledBack => "Rolled back",
            Self::NotStarted => "Not started",
        }
    }

    /// What a release in this state is counted as, by the rules of [`WaveCounts::add`]; a failure counts at once.
    pub fn from_release(gate: Gate, state: ReleaseState, is_admitted_offline: bool) -> Self {
        match gate {
            Gate::Closed => return Self::Waiting,
            Gate::RolledBack => return Self::RolledBack,
            Gate::Aborted => return Self::NotStarted,
            Gate::Open => {}
        }
        let one = StateCount { count: 1, past_fail_after: 1, is_admitted_offline, ..StateCount::default() };
        let mut counts = WaveCounts::default();
        counts.add(false, state, &one);
        let found = [
            (counts.silent, Self::Silent),
            (counts.failing, Self::Failing),
            (counts.deferred, Self::Deferred),
            (counts.drifted, Self::Drifted),
            (counts.operational, Self::Operational),
        ];
        found.into_iter().find(|(count, _)| *count > 0).map_or(Self::InProgress, |(_, status)| status)
    }
}

/// One cluster of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RolloutCluster {
    /// Name of the cluster.
    pub name: String,
    /// Index of its wave, from 0.
    pub wave: u32,
    /// Name of its wave.
    pub wave_name: String,
    /// What the rollout counts it as.
    pub status: RolloutClusterStatus,
    /// The state of its release.
    pub state: ReleaseState,
    /// Number of the revision that it may apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_revision: Option<u32>,
    /// Number of the revision that it reported as applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_revision: Option<u32>,
    /// Since when the release is in its state.
    pub since: Timestamp,
    /// The message of the release, at most [`MAX_MESSAGE_CHARS`] characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Most characters of a [`RolloutCluster::message`].
pub const MAX_MESSAGE_CHARS: u32 = 300;

/// Which clusters of a rollout to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolloutClusterQuery {
    /// Number of the revision; by default the published one.
    pub revision: Option<u32>,
    /// Only those of the wave with this name.
    pub wave: Option<String>,
    /// The page; `q` is a part of the name of the cluster.
    pub list: ListQuery,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f4b_a_cluster_has_the_status_that_its_wave_counts_it_as() {
        let status = RolloutClusterStatus::from_release;
        for (state, expected) in [
            (ReleaseState::Healthy, RolloutClusterStatus::Operational),
            (ReleaseState::Degraded, RolloutClusterStatus::Failing),
            (ReleaseState::Drifted, RolloutClusterStatus::Drifted),
            (ReleaseState::Applying, RolloutClusterStatus::InProgress),
            (ReleaseState::Pending, RolloutClusterStatus::Deferred),
            (ReleaseState::Unknown, RolloutClusterStatus::Silent),
        ] {
            assert_eq!(status(Gate::Open, state, false), expected, "{state:?}");
            assert_eq!(status(Gate::Closed, state, false), RolloutClusterStatus::Waiting);
        }
        assert_eq!(status(Gate::Open, ReleaseState::Unknown, true), RolloutClusterStatus::Deferred);
        assert_eq!(status(Gate::Aborted, ReleaseState::Suspended, false), RolloutClusterStatus::NotStarted);
        for state in [ReleaseState::Suspended, ReleaseState::Failed, ReleaseState::Removed] {
            assert_eq!(status(Gate::RolledBack, state, false), RolloutClusterStatus::RolledBack);
        }
    }
}
