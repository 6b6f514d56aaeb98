//! Rollouts: one publish delivered in waves (docs/rollouts.md, G511, G512).
//!
//! Three pure functions. [`assign_waves`] computes the wave of every selected cluster; the placer stores it on the releases and
//! gates them. [`Rollout::reconcile`] reads the states of the admitted clusters and returns how many more may be admitted.
//! [`Rollout::apply_action`] applies an action of a person. A wave is complete when every cluster of it has been operational
//! for the wave's soak time. A cluster that was offline before its admission is deferred, and a wave may have a limited number
//! of them (E-5). A cluster that goes offline after its admission is no success: it counts as failing (P29).

use serde::{Deserialize, Serialize};

use crate::kubernetes::id::WorkloadId;
use crate::kubernetes::time::{Timestamp, format_duration};

mod action;
mod amount;
mod approval;
mod assign;
mod check;
mod cluster;
mod event;
#[cfg(test)]
mod properties;
mod reconcile;
mod report;
mod rollback;
mod strategy;
#[cfg(test)]
mod tests;
mod window;

pub use action::RolloutAction;
pub use amount::{CountOrPercent, TimeSpan};
pub use assign::{WavePreview, assign_waves, preview_waves};
pub use check::{MAX_WAVES, check, check_fleet};
pub use cluster::{MAX_MESSAGE_CHARS, RolloutCluster, RolloutClusterQuery, RolloutClusterStatus};
pub use event::{RolloutEvent, WavePosition};
pub use reconcile::{Admission, RolloutStep, StateCount, WaveCounts};
pub use report::{MAX_REPORT_CLUSTERS, RolloutReport};
pub use rollback::at_once_waves;
pub use strategy::{Approver, OnFailure, RolloutStrategy, Wave};
pub use window::{RolloutWindow, Weekday};

/// The state of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RolloutState {
    /// The current wave is being updated.
    Running,
    /// The current wave is operational, and its soak time has not passed.
    Soaking {
        /// When the next wave may start.
        until: Timestamp,
    },
    /// The current wave waits for an approval.
    AwaitingApproval,
    /// The current wave is operational, its soak time has passed, and its result waits for an approval.
    AwaitingResultApproval,
    /// More clusters of the current wave are deferred than it allows. It continues when enough of them report, or when a
    /// person promotes it.
    #[serde(rename_all = "camelCase")]
    AwaitingClusters {
        /// Number of deferred clusters.
        deferred: u32,
        /// How many the wave allows.
        limit: u32,
    },
    /// A person paused it.
    Paused {
        /// Name of the person.
        by: String,
    },
    /// It was paused automatically: more clusters fail than the wave allows.
    AutoPaused {
        /// Why, as a sentence for people.
        message: String,
    },
    /// More clusters failed than a wave allows, and clusters get back the revision that they had before.
    #[serde(rename_all = "camelCase")]
    RollingBack {
        /// Why, as a sentence for people.
        message: String,
        /// Index of the first wave that is rolled back, from 0; the current one is the last.
        first_wave: u32,
    },
    /// The clusters have the revision of before again: all of them have reported that.
    #[serde(rename_all = "camelCase")]
    RolledBack {
        /// Why, as a sentence for people.
        message: String,
        /// Index of the first wave that was rolled back, from 0.
        first_wave: u32,
    },
    /// Every wave is complete.
    Completed,
    /// A person aborted it: gated clusters keep their released revision.
    Aborted {
        /// Name of the person.
        by: String,
    },
    /// Another publish, or an unpublish, replaced it.
    Superseded,
}

impl RolloutState {
    /// The label shown to people.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Soaking { .. } => "Soaking",
            Self::AwaitingApproval => "Awaiting approval",
            Self::AwaitingResultApproval => "Awaiting approval of the result",
            Self::AwaitingClusters { .. } => "Awaiting clusters",
            Self::Paused { .. } => "Paused",
            Self::AutoPaused { .. } => "Paused automatically",
            Self::RollingBack { .. } => "Rolling back",
            Self::RolledBack { .. } => "Rolled back",
            Self::Completed => "Completed",
            Self::Aborted { .. } => "Aborted",
            Self::Superseded => "Superseded",
        }
    }

    /// Whether it can still continue.
    pub const fn is_active(&self) -> bool {
        !matches!(self, Self::Completed | Self::RolledBack { .. } | Self::Aborted { .. } | Self::Superseded)
    }

    /// Whether it continues only after an action of a person.
    pub const fn is_awaiting_action(&self) -> bool {
        matches!(
            self,
            Self::AwaitingApproval
                | Self::AwaitingResultApproval
                | Self::Paused { .. }
                | Self::AutoPaused { .. }
        )
    }

    /// Whether a person should look at it: it waits for an action, or for clusters that may never return, or was rolled back.
    pub const fn needs_attention(&self) -> bool {
        self.is_awaiting_action() || matches!(self, Self::AwaitingClusters { .. } | Self::RolledBack { .. })
    }

    /// Whether clusters do not get, or lost, its revision for good: it was aborted or rolled back.
    pub const fn is_given_up(&self) -> bool {
        matches!(self, Self::Aborted { .. } | Self::RolledBack { .. })
    }
}

/// The progress of one wave, as of the last step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WaveProgress {
    /// Its name.
    pub name: String,
    /// Number of clusters in it.
    pub clusters: u32,
    /// Of these: not admitted yet.
    pub gated: u32,
    /// Being updated, or changed on the cluster after it was.
    pub in_transition: u32,
    /// Of these: changed on the cluster.
    pub drifted: u32,
    /// Operational.
    pub operational: u32,
    /// Admitted, and offline since before that or waiting for a value: they are updated once they report.
    pub deferred: u32,
    /// Failing, or offline since their admission.
    pub failing: u32,
    /// Of the failing ones: offline since their admission.
    pub silent: u32,
    /// Rolled back, whatever runs there now.
    pub rolled_back: u32,
    /// Failures that do not count: those before the publish, and those that a person accepted by resuming. A rolled-back cluster is one.
    pub accepted_failures: u32,
    /// When its first cluster was admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// Since when every cluster of it is operational, or deferred within its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operational_at: Option<Timestamp>,
    /// When it was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Timestamp>,
    /// Since when more of its clusters have failed than it allows, if the rollout continues in spite of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded_at: Option<Timestamp>,
    /// Who approved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When it was approved; absent if that was before it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<Timestamp>,
    /// Who approved its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_approved_by: Option<String>,
    /// When its result was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_approved_at: Option<Timestamp>,
    /// Who skipped the rest of its soak time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted_by: Option<String>,
}

/// One publish delivered in waves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// The workload.
    pub workload: WorkloadId,
    /// Number of the revision that it delivers.
    pub revision: u32,
    /// Number of the revision that was published before, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// Its waves and limits.
    pub strategy: RolloutStrategy,
    /// Its state.
    pub state: RolloutState,
    /// When the state or the current wave last changed.
    pub since: Timestamp,
    /// Whether the first step was taken. The failures of that time do not count.
    pub initialized: bool,
    /// Index of the current wave, from 0.
    pub wave: u32,
    /// The progress of each wave.
    pub waves: Vec<WaveProgress>,
    /// When it was published.
    pub started_at: Timestamp,
    /// The name of the user who published it; empty if it was published before this was recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub published_by: String,
    /// When the window opens; present only while a closed window blocks an admission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Timestamp>,
}

impl Rollout {
    /// A rollout before its first step, from one revision to another.
    pub fn new(
        workload: WorkloadId,
        (from, revision): (Option<u32>, u32),
        strategy: RolloutStrategy,
        at: Timestamp,
    ) -> Self {
        let needs_approval = strategy.waves.first().is_some_and(|wave| wave.approval);
        let state = if needs_approval { RolloutState::AwaitingApproval } else { RolloutState::Running };
        let progress = |wave: &Wave| WaveProgress { name: wave.name.clone(), ..WaveProgress::default() };
        let waves = strategy.waves.iter().map(progress).collect();
        Self {
            workload,
            revision,
            from,
            state,
            since: at,
            initialized: false,
            wave: 0,
            waves,
            strategy,
            started_at: at,
            published_by: String::new(),
            opens_at: None,
        }
    }

    /// Number of clusters that went offline after their admission: it is not known what runs there. As of the last step.
    pub fn count_silent(&self) -> u32 {
        self.waves.iter().fold(0_u32, |sum, wave| sum.saturating_add(wave.silent))
    }

    /// Number of admitted clusters that fail, with the silent ones. As of the last step.
    pub(crate) fn count_failing(&self) -> u32 {
        self.waves.iter().fold(0_u32, |sum, wave| sum.saturating_add(wave.failing))
    }

    /// Whether it was paused because of failures.
    pub const fn is_auto_paused(&self) -> bool {
        matches!(self.state, RolloutState::AutoPaused { .. })
    }

    /// The label of the current wave: `wave 2 of 3 (eu)`.
    pub fn current_wave_label(&self) -> String {
        self.current_wave().to_string()
    }

    /// The number of drifted clusters that the current wave waits for, if it waits for no others: nothing continues until a person
    /// decides, or the drift is reverted.
    pub fn drift_that_blocks(&self) -> u32 {
        let wave = self.waves.get(self.wave as usize).filter(|_| self.state == RolloutState::Running);
        wave.map_or(0, |wave| if wave.drifted == wave.in_transition { wave.drifted } else { 0 })
    }

    /// Its state, as a sentence for people.
    pub fn message(&self, now: Timestamp) -> String {
        let wave = self.current_wave_label();
        match &self.state {
            RolloutState::Running => match self.opens_at.filter(|opens| *opens > now) {
                Some(opens) => format!(
                    "{} waits for the rollout window, which opens in {}.",
                    capitalize(&wave),
                    format_duration(opens.millis_since(now))
                ),
                None => match self.drift_that_blocks() {
                    0 => format!("{} is in progress.", capitalize(&wave)),
                    drifted => format!(
                        "{} waits for {} with drifted objects. Sync {}, or ignore the fields in the policies.",
                        capitalize(&wave),
                        format_clusters(drifted),
                        if drifted == 1 { "it" } else { "them" }
                    ),
                },
            },
            RolloutState::Soaking { until } if *until > now => format!(
                "{} is operational; its soak time ends in {}.",
                capitalize(&wave),
                format_duration(until.millis_since(now))
            ),
            RolloutState::Soaking { .. } => format!("The soak time of {wave} has passed."),
            RolloutState::AwaitingApproval => {
                format!("{} waits for {}.", capitalize(&wave), self.describe_required_approval())
            }
            RolloutState::AwaitingResultApproval => format!(
                "{} is operational; its result waits for {}.",
                capitalize(&wave),
                self.describe_required_approval()
            ),
            RolloutState::AwaitingClusters { deferred, limit } => format!(
                "{} waits: {} Promote it to continue without them.",
                capitalize(&wave),
                format_deferral(*deferred, *limit)
            ),
            RolloutState::Paused { by } => format!("Paused by {by} at {wave}."),
            RolloutState::AutoPaused { message: why } => format!("Paused automatically at {wave}: {why}"),
            RolloutState::RollingBack { message: why, first_wave } => {
                format!("Rolling back {}: {why}", self.describe_waves(*first_wave))
            }
            RolloutState::RolledBack { message: why, first_wave } => format!(
                "Rolled back {}: {why} The clusters stay at the revision of before until the next publish.",
                self.describe_waves(*first_wave)
            ),
            RolloutState::Completed => "Every wave is complete.".to_owned(),
            RolloutState::Aborted { by } => {
                format!("Aborted by {by} at {wave}; gated clusters stay at their current revision.")
            }
            RolloutState::Superseded => {
                "A newer publish or an unpublish replaced it before it was complete.".to_owned()
            }
        }
    }

    /// The state of one of its waves, as a label.
    pub fn wave_label(&self, at: usize) -> &'static str {
        if self.is_rolled_back(at) {
            return self.state.label();
        }
        match at.cmp(&(self.wave as usize)) {
            std::cmp::Ordering::Less => "Done",
            std::cmp::Ordering::Greater
                if self.state.is_given_up() || matches!(self.state, RolloutState::RollingBack { .. }) =>
            {
                "Not started"
            }
            std::cmp::Ordering::Greater => "Waiting",
            std::cmp::Ordering::Equal => match self.state {
                RolloutState::Completed => "Done",
                _ => self.state.label(),
            },
        }
    }

    fn set_state(&mut self, state: RolloutState, at: Timestamp) {
        if self.state != state {
            self.state = state;
            self.since = at;
        }
    }
}

/// `wave 2 of 3 (eu)`.
pub fn format_wave(wave: u32, of: usize, name: &str) -> String {
    format!("wave {} of {of} ({name})", wave + 1)
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `2 clusters are offline or wait for a value; the limit is 1.`
fn format_deferral(deferred: u32, limit: u32) -> String {
    let (are, wait) = if deferred == 1 { ("is", "waits") } else { ("are", "wait") };
    format!("{} {are} offline or {wait} for a value; the limit is {limit}.", format_clusters(deferred))
}

fn format_clusters(n: u32) -> String {
    format!("{n} cluster{}", if n == 1 { "" } else { "s" })
}
