//! Rollouts: one publish on its way through waves, and when it goes on by itself (`product.md` F.4b, G511, G512).
//!
//! Three steps, each pure. [`assign`] says which wave every chosen cluster belongs to; the placer writes that on the
//! releases and holds them. [`Rollout::step`] looks at what became of the clusters that were let through and says how many
//! more may be. [`Rollout::steer`] is a person's word. A wave is over when every cluster of it is operational or can't be
//! asked, and stays so for its soak time; a cluster that is offline never holds anybody up (E-5).

use serde::{Deserialize, Serialize};

use crate::finding::Severity;
use crate::id::WorkloadId;
use crate::overrides::Target;
use crate::time::{Timestamp, short_duration};

mod amount;
mod assign;
mod check;
#[cfg(test)]
mod laws;
mod steer;
mod step;
#[cfg(test)]
mod tests;
mod window;

pub use amount::{Amount, Span};
pub use assign::{WaveOutlook, assign, outlook};
pub use check::{MAX_WAVES, check, check_fleet};
pub use steer::RolloutVerb;
pub use step::{Alike, LetGo, Step, WaveTally};
pub use window::{Weekday, Window};

/// How a publish spreads over its clusters. Without waves every cluster gets it at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RolloutStrategy {
    /// One after another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<Wave>,
    /// How long a cluster may be broken before it counts as a failure; 1 minute unless it says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_after: Option<Span>,
    /// When clusters may be let through; `None` for always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// How long a cluster may be broken before it counts, in milliseconds: what a restart takes is no failure.
const FAIL_AFTER_MILLIS: i64 = 60_000;

impl RolloutStrategy {
    /// Whether every cluster gets it at once.
    pub fn is_at_once(&self) -> bool {
        self.waves.is_empty()
    }

    /// How long a cluster may be broken before it counts, in milliseconds.
    pub fn fail_after_millis(&self) -> i64 {
        self.fail_after.as_ref().and_then(Span::millis).unwrap_or(FAIL_AFTER_MILLIS)
    }

    /// Whether nothing of it was written.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Clusters that get it together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Wave {
    /// Its name, unique in the rollout.
    pub name: String,
    /// The clusters it is for, of those that the placement chooses and no wave before has; empty for all that are left.
    #[serde(skip_serializing_if = "Target::is_empty")]
    pub target: Target,
    /// At most this many of them, in the order of the decision; percentages are of all chosen clusters, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub take: Option<Amount>,
    /// At most this many at a time are on their way; percentages are of the wave, rounded up. `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<Amount>,
    /// With more failures than this the rollout pauses itself; percentages are of the wave, rounded down. 0 unless it says
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<Amount>,
    /// How long every cluster of it has to stay operational before the next wave begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soak: Option<Span>,
    /// Whether a person has to say yes before it begins.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
}

impl Wave {
    /// How many clusters of the wave, which has so many, may be on their way at a time: at least one.
    pub(crate) fn concurrency(&self, clusters: u32) -> u32 {
        self.max_concurrency.as_ref().and_then(|most| most.up(clusters)).map_or(u32::MAX, |most| most.max(1))
    }

    /// How many of so many clusters may fail.
    pub(crate) fn failures(&self, clusters: u32) -> u32 {
        self.max_failures.as_ref().and_then(|most| most.down(clusters)).unwrap_or(0)
    }

    pub(crate) fn soak_millis(&self) -> i64 {
        self.soak.as_ref().and_then(Span::millis).unwrap_or(0)
    }
}

/// Where a rollout is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RolloutState {
    /// Its wave is on its way.
    Running,
    /// Its wave is operational, and is watched for its soak time.
    Soaking {
        /// When the next wave may begin.
        until: Timestamp,
    },
    /// Its wave waits for a person's yes.
    AwaitingApproval,
    /// A person stopped it.
    Paused {
        /// Who.
        by: String,
    },
    /// It stopped itself: more clusters fail than may.
    AutoPaused {
        /// Why, in a sentence.
        why: String,
    },
    /// Every wave is over.
    Completed,
    /// A person ended it: clusters that it had not reached keep what they have.
    Aborted {
        /// Who.
        by: String,
    },
    /// Another publish, or taking the workload back, overtook it.
    Superseded,
}

impl RolloutState {
    /// The word people read.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Soaking { .. } => "Soaking",
            Self::AwaitingApproval => "Awaiting approval",
            Self::Paused { .. } => "Paused",
            Self::AutoPaused { .. } => "Paused by itself",
            Self::Completed => "Completed",
            Self::Aborted { .. } => "Aborted",
            Self::Superseded => "Superseded",
        }
    }

    /// Whether it can still go on.
    pub const fn is_active(&self) -> bool {
        !matches!(self, Self::Completed | Self::Aborted { .. } | Self::Superseded)
    }

    /// Whether it goes on only if a person says so.
    pub const fn needs_a_person(&self) -> bool {
        matches!(self, Self::AwaitingApproval | Self::Paused { .. } | Self::AutoPaused { .. })
    }
}

/// What became of the clusters of one wave, as of the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WaveProgress {
    /// Its name.
    pub name: String,
    /// Clusters it has.
    pub clusters: u32,
    /// Of these, not let through yet.
    pub held: u32,
    /// On their way.
    pub moving: u32,
    /// Operational.
    pub operational: u32,
    /// Let through, and not to be heard of: they catch up when they return.
    pub deferred: u32,
    /// Broken.
    pub failing: u32,
    /// Failures that a person has let pass, on top of those that may be.
    pub forgiven: u32,
    /// When the first cluster of it was let through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// Since when every cluster of it is operational or can't be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operational_at: Option<Timestamp>,
    /// When the rollout went on from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Timestamp>,
    /// Who said yes before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// Who ended its soak time early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted_by: Option<String>,
}

/// One publish on its way through waves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// The workload.
    pub workload: WorkloadId,
    /// Number of the revision that it brings.
    pub revision: u32,
    /// Number of the revision that was published before, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// How it goes.
    pub strategy: RolloutStrategy,
    /// Where it is.
    pub state: RolloutState,
    /// Since when.
    pub since: Timestamp,
    /// Whether the first step was taken: the revision stood on every cluster then.
    pub begun: bool,
    /// Position of the wave it is at.
    pub wave: u32,
    /// What became of each wave.
    pub waves: Vec<WaveProgress>,
    /// When it was published.
    pub started_at: Timestamp,
    /// When a cluster may be let through again, while the window is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Timestamp>,
}

/// Something that a rollout did, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// The sentence.
    pub message: String,
    /// How much it weighs.
    pub severity: Severity,
}

impl Rollout {
    /// A rollout that nothing has gone through yet.
    pub fn new(
        workload: WorkloadId,
        (from, revision): (Option<u32>, u32),
        strategy: RolloutStrategy,
        at: Timestamp,
    ) -> Self {
        let asks = strategy.waves.first().is_some_and(|wave| wave.approval);
        let state = if asks { RolloutState::AwaitingApproval } else { RolloutState::Running };
        let progress = |wave: &Wave| WaveProgress { name: wave.name.clone(), ..WaveProgress::default() };
        let waves = strategy.waves.iter().map(progress).collect();
        Self {
            workload,
            revision,
            from,
            state,
            since: at,
            begun: false,
            wave: 0,
            waves,
            strategy,
            started_at: at,
            opens_at: None,
        }
    }

    /// What the wave it is at is called, for people: `wave 2 of 3 (eu)`.
    pub fn at_wave(&self) -> String {
        let name = self.waves.get(self.wave as usize).map_or("", |wave| wave.name.as_str());
        wave_words(self.wave, self.waves.len(), name)
    }

    /// Where it is, in a sentence.
    pub fn sentence(&self, now: Timestamp) -> String {
        let wave = self.at_wave();
        match &self.state {
            RolloutState::Running => match self.opens_at.filter(|opens| *opens > now) {
                Some(opens) => format!(
                    "{} waits: outside the window, which opens in {}.",
                    upper(&wave),
                    short_duration(opens.since(now))
                ),
                None => format!("{} is on its way.", upper(&wave)),
            },
            RolloutState::Soaking { until } if *until > now => format!(
                "{} is operational; the next begins in {} if it stays so.",
                upper(&wave),
                short_duration(until.since(now))
            ),
            RolloutState::Soaking { .. } => format!("{} has soaked.", upper(&wave)),
            RolloutState::AwaitingApproval => format!("{} waits for somebody to approve it.", upper(&wave)),
            RolloutState::Paused { by } => format!("Paused by {by} at {wave}."),
            RolloutState::AutoPaused { why } => format!("Paused by itself at {wave}: {why}"),
            RolloutState::Completed => "Every wave is over.".to_owned(),
            RolloutState::Aborted { by } => {
                format!("Ended by {by} at {wave}; clusters it had not reached keep what they have.")
            }
            RolloutState::Superseded => "Something newer was published before it was over.".to_owned(),
        }
    }

    /// How far one of its waves is, in a word or two.
    pub fn wave_word(&self, at: usize) -> &'static str {
        match at.cmp(&(self.wave as usize)) {
            std::cmp::Ordering::Less => "Done",
            std::cmp::Ordering::Greater => "Waiting",
            std::cmp::Ordering::Equal => match self.state {
                RolloutState::Completed => "Done",
                _ => self.state.word(),
            },
        }
    }

    fn enter(&mut self, state: RolloutState, at: Timestamp) {
        if self.state != state {
            self.state = state;
            self.since = at;
        }
    }
}

/// `wave 2 of 3 (eu)`.
pub fn wave_words(wave: u32, of: usize, name: &str) -> String {
    format!("wave {} of {of} ({name})", wave + 1)
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
