//! What an incident is about: it decides how long the cause has to last, where it is tracked, and how it is described.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::kubernetes::id::ClusterId;

/// What an incident is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum IncidentKind {
    /// The workload fails on clusters.
    #[default]
    Failure,
    /// Objects were changed on clusters, and that is not reverted.
    Drift,
    /// Its rollout waits for a person.
    Rollout,
    /// Its rollout was rolled back, because more clusters failed than it allows.
    Rollback,
    /// Clusters of its rollout went offline after their admission: it is not known what runs there.
    Silence,
    /// What its draft follows in a Git repository or a registry can't be read, or is not used.
    Source,
    /// A loop of the server fails with it again and again: it is not placed, or its rollout is not advanced.
    Loop,
}

impl IncidentKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Failure => "Failure",
            Self::Drift => "Drift",
            Self::Rollout => "Rollout that waits",
            Self::Rollback => "Rollback",
            Self::Silence => "Silence after the admission",
            Self::Source => "Source",
            Self::Loop => "Loop of the server",
        }
    }

    /// How long a cause of this kind lasts before it is an incident, in milliseconds; `base` is that of a failure.
    pub const fn delay_millis(self, base: i64) -> i64 {
        base.saturating_mul(match self {
            Self::Failure | Self::Rollback => 1,
            Self::Drift | Self::Silence | Self::Source | Self::Loop => 10,
            Self::Rollout => 60,
        })
    }

    /// The id under which a cause of the workload as a whole is tracked as that of a cluster is; `None` if the cause is one of clusters.
    /// Ids of clusters have the time of their creation, so none is from the year 1970.
    pub fn workload_place(self) -> Option<ClusterId> {
        match self {
            Self::Failure | Self::Drift => None,
            Self::Rollout => Some(ClusterId::from_parts(0, 1)),
            Self::Source => Some(ClusterId::from_parts(0, 2)),
            Self::Loop => Some(ClusterId::from_parts(0, 3)),
            Self::Silence => Some(ClusterId::from_parts(0, 4)),
            Self::Rollback => Some(ClusterId::from_parts(0, 5)),
        }
    }

    /// Whether an incident of this kind is over on a cluster on which only a cause of the other one is left. A cluster that drifted and
    /// fails now stays until its failure has lasted long enough, because the drift may still be there.
    pub(super) const fn is_ended_by(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Failure, Self::Drift) | (Self::Rollout | Self::Rollback | Self::Silence, _)
        )
    }

    /// What an open incident is, as a headline.
    pub(super) fn describe_open(self, workload: &str, clusters: &str) -> String {
        match self {
            Self::Failure => format!("{workload} fails on {clusters}"),
            Self::Drift => format!("{workload} drifts on {clusters}"),
            Self::Rollout => format!("The rollout of {workload} waits for a person"),
            Self::Rollback => format!("The rollout of {workload} was rolled back"),
            Self::Silence => format!("Clusters of the rollout of {workload} are silent"),
            Self::Source => format!("The source of {workload} is not followed"),
            Self::Loop => format!("A loop of the server fails for {workload}"),
        }
    }

    /// What a closed incident was, as a headline.
    pub(super) fn describe_closed(self, workload: &str, clusters: &str, lasted: &str) -> String {
        match self {
            Self::Failure => format!("{workload} recovered on {clusters} after {lasted}"),
            Self::Drift => format!("{workload} does not drift any more on {clusters} after {lasted}"),
            Self::Rollout => format!("The rollout of {workload} does not wait any more after {lasted}"),
            Self::Rollback => format!("The rollback of {workload} is replaced after {lasted}"),
            Self::Silence => {
                format!("The rollout of {workload} has no silent clusters any more after {lasted}")
            }
            Self::Source => format!("The source of {workload} is not blocked any more after {lasted}"),
            Self::Loop => format!("No loop of the server fails for {workload} any more after {lasted}"),
        }
    }
}
