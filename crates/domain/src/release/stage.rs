//! The thirteen stages of one delivery, in strict order, none of which aborts (S2-1 … S2-7, DESIGN 3.7).

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A stage. Ordered as they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum StageName {
    /// Guard rails passed, revision stored.
    Accepted,
    /// No approval needed, or given.
    Approved,
    /// The decision selects the cluster.
    Placed,
    /// The manifests are rendered for this cluster.
    Rendered,
    /// The cluster may have it now.
    Released,
    /// The agent knows (S0-6).
    Notified,
    /// The agent holds the bundle and checked its digest (S0-7).
    Pulled,
    /// Kinds are served, the namespace is there, nobody else owns the objects.
    Preflight,
    /// Every object is applied, in order (S0-8).
    Applied,
    /// Objects that the bundle no longer has are gone (S3-13).
    Pruned,
    /// No container waits for an image (S0-8).
    ImagesPulled,
    /// Everything is healthy (S0-9).
    Operational,
    /// The hub has stored the agent's word for this bundle (S0-10).
    Confirmed,
}

impl StageName {
    /// All of them, in order.
    pub const ALL: [Self; 13] = [
        Self::Accepted,
        Self::Approved,
        Self::Placed,
        Self::Rendered,
        Self::Released,
        Self::Notified,
        Self::Pulled,
        Self::Preflight,
        Self::Applied,
        Self::Pruned,
        Self::ImagesPulled,
        Self::Operational,
        Self::Confirmed,
    ];

    /// Whether the agent reports it; the others are the hub's own.
    pub fn is_agents(self) -> bool {
        self >= Self::Notified && self <= Self::Operational
    }

    /// The words people read.
    pub const fn word(self) -> &'static str {
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

    /// What the stage is for, in a sentence (S2-14).
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Accepted => "Guard rails passed and the revision is stored.",
            Self::Approved => "Nobody has to approve this, or somebody did.",
            Self::Placed => "The placement chose this cluster.",
            Self::Rendered => "The manifests are rendered with this cluster's overrides.",
            Self::Released => "The rollout allows this cluster to have it.",
            Self::Notified => "The agent knows that there is something to do.",
            Self::Pulled => "The agent holds the bundle and has checked its hash.",
            Self::Preflight => "Every kind is served and nobody else owns the objects.",
            Self::Applied => "Every object is applied, in order.",
            Self::Pruned => "Objects of the previous revision that are no longer wanted are gone.",
            Self::ImagesPulled => "No container waits for its image.",
            Self::Operational => "Every object is healthy.",
            Self::Confirmed => "The cluster's confirmation is stored.",
        }
    }
}

/// How far a stage is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum StageState {
    /// Its turn has not come.
    #[default]
    Pending,
    /// There was nothing to do (S2-7).
    Skipped {
        /// Why not.
        message: String,
    },
    /// Under way.
    Running {
        /// What is going on; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// Held up by something that is not an error.
    Waiting(Trouble),
    /// Failed; it is tried again, for ever (S2-3).
    Failed(Trouble),
    /// Done.
    Done,
}

/// Why a stage waits or failed, and when it is tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// CamelCase reason, such as `ApplyConflict`.
    pub reason: String,
    /// The sentence people read: which object, why, what to do.
    pub message: String,
    /// Tries so far.
    #[serde(default)]
    pub attempts: u32,
    /// When it is tried again; `None` when something else has to happen first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry: Option<Timestamp>,
}

impl StageState {
    /// Whether the next stage may begin.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Skipped { .. })
    }

    /// Whether both are the same kind of state, whatever their words.
    pub fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The trouble it is in, if any.
    pub fn trouble(&self) -> Option<&Trouble> {
        match self {
            Self::Waiting(trouble) | Self::Failed(trouble) => Some(trouble),
            _ => None,
        }
    }

    /// The word people read.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Skipped { .. } => "skipped",
            Self::Running { .. } => "running",
            Self::Waiting(_) => "waiting",
            Self::Failed(_) => "failed",
            Self::Done => "done",
        }
    }
}

/// One stage of one release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Which one.
    pub name: StageName,
    /// How far it is.
    #[serde(flatten)]
    pub state: StageState,
    /// When it left pending, by the hub's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// All thirteen stages, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "Vec<Stage>", into = "Vec<Stage>")]
pub struct Stages(Vec<Stage>);

/// A list that is not the thirteen stages in their order. They are looked up by place, so no other is taken in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the stages in their order")]
pub struct NotTheStages;

impl TryFrom<Vec<Stage>> for Stages {
    type Error = NotTheStages;
    fn try_from(stages: Vec<Stage>) -> Result<Self, NotTheStages> {
        let in_order = stages.iter().map(|stage| stage.name).eq(StageName::ALL);
        if in_order { Ok(Self(stages)) } else { Err(NotTheStages) }
    }
}

impl From<Stages> for Vec<Stage> {
    fn from(stages: Stages) -> Self {
        stages.0
    }
}

impl Default for Stages {
    fn default() -> Self {
        let pending = |name| Stage { name, state: StageState::Pending, started_at: None, finished_at: None };
        Self(StageName::ALL.into_iter().map(pending).collect())
    }
}

impl Stages {
    /// The stages in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Stage> {
        self.0.iter()
    }

    /// One of them.
    pub fn get(&self, name: StageName) -> &Stage {
        &self.0[name as usize]
    }

    /// Sets one of them; times move only when the kind of state changes.
    pub fn set(&mut self, name: StageName, state: StageState, at: Timestamp) {
        let stage = &mut self.0[name as usize];
        if state == StageState::Pending {
            (stage.started_at, stage.finished_at) = (None, None);
        } else {
            stage.started_at = stage.started_at.or(Some(at));
            stage.finished_at = match state.is_over() {
                true if stage.state.is_over() => stage.finished_at.or(Some(at)),
                true => Some(at),
                false => None,
            };
        }
        stage.state = state;
    }

    /// The first stage that is not over: where the delivery is now.
    pub fn current(&self) -> Option<&Stage> {
        self.0.iter().find(|stage| !stage.state.is_over())
    }

    /// Puts `from` and all later stages back to pending.
    pub fn reset_from(&mut self, from: StageName) {
        for stage in &mut self.0[from as usize..] {
            *stage =
                Stage { name: stage.name, state: StageState::Pending, started_at: None, finished_at: None };
        }
    }
}
