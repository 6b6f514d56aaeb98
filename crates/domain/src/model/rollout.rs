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
use crate::model::overrides::ClusterSelector;

mod action;
mod amount;
mod assign;
mod check;
mod event;
#[cfg(test)]
mod properties;
mod reconcile;
#[cfg(test)]
mod tests;
mod window;

pub use action::RolloutAction;
pub use amount::{CountOrPercent, TimeSpan};
pub use assign::{WavePreview, assign_waves, preview_waves};
pub use check::{MAX_WAVES, check, check_fleet};
pub use event::{RolloutEvent, WavePosition};
pub use reconcile::{Admission, RolloutStep, StateCount, WaveCounts};
pub use window::{InvalidWindow, RolloutWindow, Weekday};

/// How a publish is delivered to its clusters. Without waves all clusters are updated at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutStrategy {
    /// The waves, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<Wave>,
    /// How long a cluster may be failing before it counts as a failure; 1 minute by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_after: Option<TimeSpan>,
    /// When clusters may be admitted; `None` for always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<RolloutWindow>,
    /// Who may approve the waves that require it.
    #[serde(skip_serializing_if = "Approver::is_anyone")]
    pub approver: Approver,
}

/// Who may approve a wave, of those whose role allows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Approver {
    /// Also the user who published the revision.
    #[default]
    Anyone,
    /// Only another user than the one who published the revision (S2-5).
    AnotherUser,
}

impl Approver {
    /// Whether it is the default.
    pub fn is_anyone(&self) -> bool {
        *self == Self::Anyone
    }
}

/// Default of [`RolloutStrategy::fail_after`], in milliseconds: longer than a restart takes.
const DEFAULT_FAIL_AFTER_MILLIS: i64 = 60_000;

/// Default of [`Wave::max_deferred`], except in the first of several waves: without that one, nothing is known yet about
/// the revision.
const DEFAULT_MAX_DEFERRED: CountOrPercent = CountOrPercent::Percent(20);

impl RolloutStrategy {
    /// Whether all clusters are updated at once.
    pub fn is_at_once(&self) -> bool {
        self.waves.is_empty()
    }

    /// How long a cluster may be failing before it counts as a failure, in milliseconds.
    pub fn fail_after_millis(&self) -> i64 {
        self.fail_after.as_ref().and_then(TimeSpan::millis).unwrap_or(DEFAULT_FAIL_AFTER_MILLIS)
    }

    /// Whether every field has its default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Clusters that are updated together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Wave {
    /// Its name, unique in the rollout.
    pub name: String,
    /// Its clusters, of those that the placement selects and no earlier wave contains; empty for all remaining ones.
    #[serde(skip_serializing_if = "ClusterSelector::is_empty")]
    pub target: ClusterSelector,
    /// At most this many of them, in the order of the decision; a percentage is of all selected clusters, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_clusters: Option<CountOrPercent>,
    /// At most this many are updated at a time; a percentage is of the wave, rounded up. `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<CountOrPercent>,
    /// With more failures than this the rollout is paused automatically; a percentage is of the wave, rounded down. 0 by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<CountOrPercent>,
    /// With more deferred clusters than this the rollout waits; a percentage is of the wave, rounded down. By default 0 for
    /// the first of several waves, else 20%.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_deferred: Option<CountOrPercent>,
    /// How long every cluster of it has to stay operational before the next wave starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soak: Option<TimeSpan>,
    /// Whether a person has to approve it before it starts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
}

impl Wave {
    /// How many clusters of a wave of `clusters` may be updated at a time: at least one.
    pub(crate) fn concurrency_limit(&self, clusters: u32) -> u32 {
        self.max_concurrency
            .as_ref()
            .and_then(|most| most.round_up(clusters))
            .map_or(u32::MAX, |most| most.max(1))
    }

    /// How many of `clusters` may fail.
    pub(crate) fn failure_limit(&self, clusters: u32) -> u32 {
        self.max_failures.as_ref().and_then(|most| most.round_down(clusters)).unwrap_or(0)
    }

    /// How many of `clusters` may be deferred.
    pub(crate) fn deferral_limit(&self, clusters: u32, is_canary: bool) -> u32 {
        let default = if is_canary { CountOrPercent::Count(0) } else { DEFAULT_MAX_DEFERRED };
        self.max_deferred.as_ref().unwrap_or(&default).round_down(clusters).unwrap_or(0)
    }

    pub(crate) fn soak_millis(&self) -> i64 {
        self.soak.as_ref().and_then(TimeSpan::millis).unwrap_or(0)
    }
}

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
            Self::AwaitingClusters { .. } => "Awaiting clusters",
            Self::Paused { .. } => "Paused",
            Self::AutoPaused { .. } => "Paused automatically",
            Self::Completed => "Completed",
            Self::Aborted { .. } => "Aborted",
            Self::Superseded => "Superseded",
        }
    }

    /// Whether it can still continue.
    pub const fn is_active(&self) -> bool {
        !matches!(self, Self::Completed | Self::Aborted { .. } | Self::Superseded)
    }

    /// Whether it continues only after an action of a person.
    pub const fn is_awaiting_action(&self) -> bool {
        matches!(self, Self::AwaitingApproval | Self::Paused { .. } | Self::AutoPaused { .. })
    }

    /// Whether a person should look at it: it waits for an action, or for clusters that may never return.
    pub const fn needs_attention(&self) -> bool {
        self.is_awaiting_action() || matches!(self, Self::AwaitingClusters { .. })
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
    /// Failures that do not count: those before the publish, and those that a person accepted by resuming.
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
    /// Who approved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
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
            RolloutState::AwaitingApproval => match self.strategy.approver {
                Approver::Anyone => format!("{} waits for approval.", capitalize(&wave)),
                Approver::AnotherUser => {
                    let by = match self.published_by.as_str() {
                        "" => "another user".to_owned(),
                        by => format!("a user other than {by}"),
                    };
                    format!("{} waits for the approval of {by}.", capitalize(&wave))
                }
            },
            RolloutState::AwaitingClusters { deferred, limit } => format!(
                "{} waits: {} Promote it to continue without them.",
                capitalize(&wave),
                format_deferral(*deferred, *limit)
            ),
            RolloutState::Paused { by } => format!("Paused by {by} at {wave}."),
            RolloutState::AutoPaused { message: why } => format!("Paused automatically at {wave}: {why}"),
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
        match at.cmp(&(self.wave as usize)) {
            std::cmp::Ordering::Less => "Done",
            std::cmp::Ordering::Greater if matches!(self.state, RolloutState::Aborted { .. }) => {
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
