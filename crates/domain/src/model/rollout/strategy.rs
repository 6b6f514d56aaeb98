//! How a publish is delivered: its waves, limits and approvals.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{CountOrPercent, RolloutWindow, TimeSpan};
use crate::model::overrides::ClusterSelector;
use crate::model::project::PublishApproval;

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
    /// What happens when clusters fail.
    #[serde(skip_serializing_if = "OnFailure::is_pause")]
    pub on_failure: OnFailure,
    /// Who may approve the waves that require it.
    #[serde(skip_serializing_if = "Approver::is_anyone")]
    pub approver: Approver,
}

/// What happens when clusters fail: each for itself, or when they are more than a wave allows.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum OnFailure {
    /// With more failures than a wave allows, the rollout is paused.
    #[default]
    Pause,
    /// As `pause`, and each cluster on which the revision fails before it was operational there returns to what it ran before; a first
    /// installation is removed.
    RollbackCluster,
    /// With more failures than a wave allows, the clusters of that wave, and of those that started after it, return to what they ran before.
    RollbackWave,
    /// With more failures than a wave allows, all clusters that got the revision return to what they ran before.
    RollbackAll,
    /// The rollout continues, whatever fails.
    Continue,
}

impl OnFailure {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and in forms.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether it is the default.
    pub fn is_pause(&self) -> bool {
        *self == Self::Pause
    }

    /// Whether clusters are rolled back.
    pub const fn is_rollback(self) -> bool {
        matches!(self, Self::RollbackCluster | Self::RollbackWave | Self::RollbackAll)
    }

    /// What will happen, as sentences for people.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Pause => "If more clusters fail than a wave allows, the rollout pauses.",
            Self::RollbackCluster => {
                "A cluster on which it fails is rolled back to the revision of before, and a first installation is removed there. If more \
                 clusters fail than a wave allows, the rollout pauses."
            }
            Self::RollbackWave => {
                "If more clusters fail than a wave allows, that wave and those after it are rolled back to the revision of before. A \
                 cluster that had none keeps the new one."
            }
            Self::RollbackAll => {
                "If more clusters fail than a wave allows, every wave is rolled back to the revision of before. A cluster that had none \
                 keeps the new one."
            }
            Self::Continue => "Failures do not stop the rollout.",
        }
    }
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

    /// Adds the approval that the project requires of every publish, whatever a workload sets: of the first wave, which has all
    /// clusters if there was none. Such a wave does not wait for clusters that fail or are deferred, as without waves.
    pub fn require_approval(&mut self, required: PublishApproval) {
        if required == PublishApproval::None {
            return;
        }
        if self.waves.is_empty() {
            let all = || Some(CountOrPercent::Percent(100));
            let (max_failures, max_deferred) = (all(), all());
            self.waves = vec![Wave { name: "all".to_owned(), max_failures, max_deferred, ..Wave::default() }];
        }
        if let Some(first) = self.waves.first_mut() {
            first.approval = true;
        }
        if required == PublishApproval::AnotherUser {
            self.approver = Approver::AnotherUser;
        }
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
    /// With more failures than this happens what [`RolloutStrategy::on_failure`] says; a percentage is of the wave, rounded down. 0
    /// by default.
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
    /// Whether a person has to approve its result before the next wave starts, or the rollout is completed after the last one: when
    /// every cluster of it is operational and its soak time has passed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval_after: bool,
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

    /// Whether a person has to approve something of it.
    pub fn requires_approval(&self) -> bool {
        self.approval || self.approval_after
    }

    /// How long its clusters have to stay operational, in milliseconds.
    pub(crate) fn soak_millis(&self) -> i64 {
        self.soak.as_ref().and_then(TimeSpan::millis).unwrap_or(0)
    }
}
