//! Changes of a rollout, for the event log.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Rollout, RolloutAction, RolloutState, capitalize, format_clusters, format_deferral, format_wave,
};
use crate::kubernetes::time::{Timestamp, format_duration};
use crate::text::finding::Severity;

/// A wave and its position in the rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WavePosition {
    /// Its index, from 0.
    pub index: u32,
    /// Number of waves of the rollout.
    pub count: u32,
    /// Its name.
    pub name: String,
}

impl fmt::Display for WavePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_wave(self.index, self.count as usize, &self.name))
    }
}

/// A change of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RolloutEvent {
    /// It has another state, or the same state in another wave.
    StateChanged {
        /// The state before; absent at the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<RolloutState>,
        /// The state after.
        to: RolloutState,
        /// The current wave.
        wave: WavePosition,
    },
    /// Clusters were admitted: they receive the revision.
    ClustersAdmitted {
        /// The wave up to which clusters were admitted.
        wave: WavePosition,
        /// How many.
        clusters: u32,
    },
    /// A wave is operational, and its soak time has passed.
    WaveCompleted {
        /// The wave.
        wave: WavePosition,
        /// How many of its clusters are deferred.
        deferred: u32,
    },
    /// More clusters of a wave fail than it allows, and the rollout continues.
    FailuresAccepted {
        /// The wave.
        wave: WavePosition,
        /// How many fail, as a sentence for people.
        message: String,
    },
    /// A person acted on it.
    ActionTaken {
        /// The action.
        action: RolloutAction,
        /// The state before.
        from: RolloutState,
        /// The state after.
        to: RolloutState,
        /// The current wave before the action.
        wave: WavePosition,
    },
}

impl RolloutEvent {
    /// Its severity.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::StateChanged {
                to: RolloutState::AutoPaused { .. } | RolloutState::RollingBack { .. },
                ..
            } => Severity::Error,
            Self::StateChanged {
                to:
                    RolloutState::AwaitingApproval
                    | RolloutState::AwaitingResultApproval
                    | RolloutState::AwaitingClusters { .. }
                    | RolloutState::RolledBack { .. },
                ..
            }
            | Self::FailuresAccepted { .. }
            | Self::ActionTaken { action: RolloutAction::Abort, .. } => Severity::Warning,
            _ => Severity::Note,
        }
    }

    /// The change at `at` as a sentence, for the rollout of this revision.
    pub fn message(&self, workload: &str, revision: u32, at: Timestamp) -> String {
        let rollout = format!("{workload} revision {revision}");
        match self {
            Self::StateChanged { to, wave, .. } => {
                let wave = capitalize(&wave.to_string());
                match to {
                    RolloutState::Soaking { until } => {
                        let time = format_duration(until.millis_since(at));
                        format!("{rollout}: {wave} is operational and soaks for {time}.")
                    }
                    RolloutState::AwaitingApproval => format!("{rollout}: {wave} waits for approval."),
                    RolloutState::AwaitingResultApproval => {
                        format!("{rollout}: {wave} is operational; its result waits for approval.")
                    }
                    RolloutState::AwaitingClusters { deferred, limit } => {
                        format!(
                            "{rollout}: {wave} waits. {}",
                            capitalize(&format_deferral(*deferred, *limit))
                        )
                    }
                    RolloutState::AutoPaused { message } => {
                        format!("{rollout}: the rollout was paused automatically. {message}")
                    }
                    RolloutState::RollingBack { message, .. } => {
                        format!("{rollout}: the rollout is being rolled back. {message}")
                    }
                    RolloutState::RolledBack { message, .. } => {
                        format!("{rollout}: the rollout was rolled back. {message}")
                    }
                    RolloutState::Completed => format!("{rollout}: the rollout is completed."),
                    RolloutState::Running => format!("{rollout}: {wave} starts."),
                    other => format!("{rollout}: the rollout is {}.", other.label().to_lowercase()),
                }
            }
            Self::ClustersAdmitted { wave, clusters } => {
                format!("{rollout}: {} of {wave} admitted.", format_clusters(*clusters))
            }
            Self::WaveCompleted { wave, deferred } => {
                let deferred = match deferred {
                    0 => String::new(),
                    n => format!("; {} deferred", format_clusters(*n)),
                };
                format!("{rollout}: wave {} is operational{deferred}.", wave.name)
            }
            Self::FailuresAccepted { message, .. } => {
                format!("{rollout}: {message} The rollout continues in spite of that.")
            }
            Self::ActionTaken { action: RolloutAction::Retry, wave, .. } => {
                format!("{rollout}: the failing clusters are to try again, at {wave}.")
            }
            Self::ActionTaken { action, wave, .. } => {
                format!("The rollout of {rollout} was {} at {wave}.", action.past_participle())
            }
        }
    }
}

impl Rollout {
    /// The wave at this index.
    pub(super) fn wave_position(&self, index: u32) -> WavePosition {
        let name = self.waves.get(index as usize).map_or("", |wave| wave.name.as_str());
        WavePosition {
            index,
            count: u32::try_from(self.waves.len()).unwrap_or(u32::MAX),
            name: name.to_owned(),
        }
    }

    /// The current wave.
    pub fn current_wave(&self) -> WavePosition {
        self.wave_position(self.wave)
    }

    /// Whether its state or its current wave differs from `before` in a way that is logged: clusters that leave the
    /// operational state during a soak time only restart it, and other numbers are not another state.
    pub(super) fn has_loggable_change(&self, before: &(RolloutState, u32)) -> bool {
        let is_same_kind = std::mem::discriminant(&self.state) == std::mem::discriminant(&before.0);
        let has_changed = !is_same_kind || self.wave != before.1;
        has_changed && (self.state != RolloutState::Running || self.wave > before.1)
    }
}
