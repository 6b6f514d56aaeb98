//! The thirteen stages of one delivery, in strict order. A stage never times out (S2-1 … S2-7).

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::reason::Reason;
use crate::kubernetes::time::Timestamp;
use crate::model::bundle::explain_unserved_envelope;

/// A stage, ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum StageName {
    /// The guard rails passed and the revision is stored.
    Accepted,
    /// Approved, or no approval is required.
    Approved,
    /// The placement decision selects the cluster.
    Placed,
    /// The manifests are rendered for this cluster.
    Rendered,
    /// The rollout admitted the cluster: it may apply the bundle.
    Released,
    /// The agent received the desired release (S0-6).
    Notified,
    /// The agent fetched the bundle and verified its digest (S0-7).
    Pulled,
    /// Kinds are served, namespaces exist, and no other release owns the objects.
    Preflight,
    /// Every object is applied, in order (S0-8).
    Applied,
    /// Objects that the bundle no longer contains are deleted (S3-13).
    Pruned,
    /// No container waits for an image (S0-8).
    ImagesPulled,
    /// Everything is healthy (S0-9).
    Operational,
    /// The hub stored the agent's report that this bundle is operational (S0-10).
    Confirmed,
}

impl StageName {
    /// All stages, in order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Whether the agent reports it; the hub sets the other stages.
    pub fn is_reported_by_agent(self) -> bool {
        self >= Self::Notified && self <= Self::Operational
    }

    /// The label shown to people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Approved => "Approved",
            Self::Placed => "Placed",
            Self::Rendered => "Rendered",
            Self::Released => "Released",
            Self::Notified => "Notified",
            Self::Pulled => "Pulled",
            Self::Preflight => "Preflight",
            Self::Applied => "Applied",
            Self::Pruned => "Pruned",
            Self::ImagesPulled => "Images pulled",
            Self::Operational => "Operational",
            Self::Confirmed => "Confirmed",
        }
    }

    /// What holds once the stage is done, as a sentence (S2-14).
    pub const fn description(self) -> &'static str {
        match self {
            Self::Accepted => "Guard rails passed and the revision is stored.",
            Self::Approved => "It is approved, or no approval is required.",
            Self::Placed => "The placement selects this cluster.",
            Self::Rendered => "The manifests are rendered with this cluster's overrides.",
            Self::Released => "The rollout admitted this cluster.",
            Self::Notified => "The agent received the desired state.",
            Self::Pulled => "The agent fetched the bundle and verified its hash.",
            Self::Preflight => "Every kind is served and no other release owns the objects.",
            Self::Applied => "Every object is applied, in order.",
            Self::Pruned => "Objects that the new revision no longer contains are deleted.",
            Self::ImagesPulled => "No container waits for its image.",
            Self::Operational => "Every object is healthy.",
            Self::Confirmed => "The cluster's confirmation is stored.",
        }
    }

    /// What has to hold for the stage to be done, as a sentence: the description of a stage that is not done would state
    /// something that is not so.
    pub fn requirement(self) -> String {
        let mut rest = self.description().chars();
        let first = rest.next().unwrap_or_default().to_ascii_lowercase();
        format!("Done when {first}{}", rest.as_str())
    }
}

/// The progress of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum StageState {
    /// An earlier stage is not finished.
    #[default]
    Pending,
    /// There was nothing to do (S2-7).
    Skipped {
        /// Why there was nothing to do.
        message: String,
    },
    /// In progress.
    Running {
        /// What is being done; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// Waits for something that is not an error.
    Waiting(StageReason),
    /// Failed; it is retried without limit (S2-3).
    Failed(StageReason),
    /// Done.
    Done,
}

/// Why a stage waits or failed, and when it is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct StageReason {
    /// The reason, such as `ApplyConflict`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub reason: Reason,
    /// A sentence for people: which object, why, what to do.
    pub message: String,
    /// Number of attempts so far.
    #[serde(default)]
    pub attempts: u32,
    /// When it is retried; `None` if another event has to happen first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry: Option<Timestamp>,
}

impl StageReason {
    /// A reason without attempts.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), attempts: 0, next_retry: None }
    }

    /// The message, or the reason if the message is empty.
    pub fn text(&self) -> &str {
        if self.message.is_empty() { self.reason.as_str() } else { &self.message }
    }
}

impl StageState {
    /// Whether the next stage may begin.
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Done | Self::Skipped { .. })
    }

    /// The reason, if the stage waits or failed.
    pub fn reason(&self) -> Option<&StageReason> {
        match self {
            Self::Waiting(stage_reason) | Self::Failed(stage_reason) => Some(stage_reason),
            _ => None,
        }
    }

    /// This state, read as the state of stage `name`. Stage Operational has the reasons of the health of objects, which are
    /// only texts; in JSON they look like the reasons of the same name that decide the state of a release.
    fn at_stage(self, name: StageName) -> Self {
        let to_text =
            |reason: StageReason| StageReason { reason: reason.reason.into_cluster_text(), ..reason };
        match (name, self) {
            (StageName::Operational, Self::Waiting(reason)) => Self::Waiting(to_text(reason)),
            (StageName::Operational, Self::Failed(reason)) => Self::Failed(to_text(reason)),
            (_, state) => state,
        }
    }

    /// The name, as in JSON.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }
}

/// One stage of one release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Which stage.
    pub name: StageName,
    /// Its progress.
    #[serde(flatten)]
    pub state: StageState,
    /// When it left `Pending`, by the hub's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was done or skipped, by the hub's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Of stage Approved: who approved the delivery; `None` if nobody had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<StageApproval>,
    /// Of stage Released while the release is suspended: how its rollout ended there, which it shows again once it is resumed; `None` if it
    /// did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<StageState>,
}

impl Stage {
    /// A stage that has not begun.
    const fn pending(name: StageName) -> Self {
        Self {
            name,
            state: StageState::Pending,
            started_at: None,
            finished_at: None,
            approval: None,
            ended: None,
        }
    }

    /// What holds now that it is done, why it was skipped, or what has to hold for it to be done: a sentence for people
    /// (S2-14). Why a stage waits or fails is in its reason.
    pub fn explanation(&self) -> String {
        match (&self.state, &self.approval) {
            (StageState::Done, Some(approval)) => approval.to_string(),
            (StageState::Done, None) => self.name.description().to_owned(),
            (StageState::Skipped { message }, _) if message.is_empty() => {
                "There was nothing to do.".to_owned()
            }
            (StageState::Skipped { message }, _) => message.clone(),
            _ => self.name.requirement(),
        }
    }
}

/// Who approved a delivery, and what of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct StageApproval {
    /// Name of the user.
    pub by: String,
    /// Number of the revision.
    pub revision: u32,
    /// The approved wave of its rollout, such as `wave 2 of 3 (eu)`, or `the result of wave 1 of 3 (canary)`.
    pub wave: String,
    /// When; absent if that was before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl fmt::Display for StageApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} approved {} of revision {}", self.by, self.wave, self.revision)?;
        match self.at {
            Some(at) => write!(f, " at {at}."),
            None => f.write_str("."),
        }
    }
}

/// All thirteen stages, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "Vec<Stage>", into = "Vec<Stage>")]
pub struct Stages(Vec<Stage>);

/// Error: the list is not the thirteen stages in order. Stages are looked up by index, so any other list is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the stages in their order")]
pub struct InvalidStages;

impl TryFrom<Vec<Stage>> for Stages {
    type Error = InvalidStages;
    fn try_from(stages: Vec<Stage>) -> Result<Self, InvalidStages> {
        if !stages.iter().map(|stage| stage.name).eq(StageName::ALL.iter().copied()) {
            return Err(InvalidStages);
        }
        let decode = |stage: Stage| Stage { state: stage.state.at_stage(stage.name), ..stage };
        Ok(Self(stages.into_iter().map(decode).collect()))
    }
}

impl From<Stages> for Vec<Stage> {
    fn from(stages: Stages) -> Self {
        stages.0
    }
}

impl Default for Stages {
    fn default() -> Self {
        Self(StageName::ALL.iter().copied().map(Stage::pending).collect())
    }
}

impl Stages {
    /// The stages in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Stage> {
        self.0.iter()
    }

    /// The stage of this name.
    pub fn get(&self, name: StageName) -> &Stage {
        &self.0[name as usize]
    }

    /// Sets the state of a stage; its times change only when the stage starts, finishes or restarts.
    pub fn set(&mut self, name: StageName, state: StageState, at: Timestamp) {
        let state = state.at_stage(name);
        let stage = &mut self.0[name as usize];
        if state == StageState::Pending {
            (stage.started_at, stage.finished_at) = (None, None);
        } else {
            stage.started_at = stage.started_at.or(Some(at));
            stage.finished_at = match state.is_finished() {
                true if stage.state.is_finished() => stage.finished_at.or(Some(at)),
                true => Some(at),
                false => None,
            };
        }
        stage.state = state;
        stage.ended = None;
    }

    /// The first stage that is not finished; `None` if the delivery is complete.
    pub fn current(&self) -> Option<&Stage> {
        self.0.iter().find(|stage| !stage.state.is_finished())
    }

    /// Sets who approved the delivery.
    pub(super) fn set_approval(&mut self, approval: Option<StageApproval>) {
        self.0[StageName::Approved as usize].approval = approval;
    }

    /// Sets how the rollout of a release ended that is suspended.
    pub(super) fn set_ended(&mut self, ended: Option<StageState>) {
        self.0[StageName::Released as usize].ended = ended;
    }

    /// Resets `from` and all later stages to pending. An approval stays: it is of a revision, which may be delivered again.
    pub fn reset_from(&mut self, from: StageName) {
        for stage in &mut self.0[from as usize..] {
            *stage = Stage { approval: stage.approval.take(), ..Stage::pending(stage.name) };
        }
    }
}

/// Replaces the message of an agent that takes a part of a bundle for an object of a kind that its cluster does not serve.
pub(super) fn explain_old_agent(state: &mut StageState) {
    if let StageState::Failed(reason) | StageState::Waiting(reason) = state
        && reason.reason == Reason::ApiMissing
        && let Some(message) = explain_unserved_envelope(&reason.message)
    {
        reason.message = message;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_14_every_stage_explains_itself_in_every_state() {
        let at = Timestamp::from_millis(0);
        let mut stages = Stages::default();
        let explain = |stages: &Stages, name| stages.get(name).explanation();
        assert_eq!(explain(&stages, StageName::Operational), "Done when every object is healthy.");
        stages.set(StageName::Applied, StageState::Done, at);
        assert_eq!(explain(&stages, StageName::Applied), "Every object is applied, in order.");
        stages.set(StageName::Pruned, StageState::Skipped { message: "Nothing to prune.".to_owned() }, at);
        assert_eq!(explain(&stages, StageName::Pruned), "Nothing to prune.");
        stages.set(StageName::Pruned, StageState::Skipped { message: String::new() }, at);
        assert_eq!(explain(&stages, StageName::Pruned), "There was nothing to do.");
    }

    #[test]
    fn a_stage_that_is_not_done_has_its_requirement_in_words() {
        assert_eq!(StageName::ImagesPulled.requirement(), "Done when no container waits for its image.");
        for &name in StageName::ALL {
            assert!(name.requirement().ends_with(&name.description()[1..]), "{name:?}");
        }
    }
}
