//! Workloads: what a person edits, and the immutable revisions that publishing makes of it.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::id::{ProjectId, WorkloadId};
use crate::labels::Labels;
use crate::name;
use crate::overrides::Override;
use crate::placement::Placement;
use crate::rollout::{Rollout, RolloutStrategy};
use crate::rollup::Counts;
use crate::time::Timestamp;

pub use crate::policy::{ConflictPolicy, DeletionPolicy, DriftPolicy, Policies};

/// Where the manifests come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Source {
    /// YAML files as a person wrote them.
    Yaml {
        /// The files, in the order given.
        files: Vec<SourceFile>,
    },
}

impl Default for Source {
    fn default() -> Self {
        Self::Yaml { files: Vec::new() }
    }
}

impl Source {
    /// Whether nothing is written in it yet.
    pub fn is_blank(&self) -> bool {
        self.files().iter().all(|file| file.text.trim().is_empty())
    }

    /// The YAML files of this source.
    pub fn files(&self) -> &[SourceFile] {
        match self {
            Self::Yaml { files } => files,
        }
    }
}

/// One named file of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SourceFile {
    /// Its name, shown in findings.
    pub name: String,
    /// Its text.
    pub text: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Everything about a workload that a person edits and a revision freezes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSpec {
    /// Namespace for objects that name none.
    pub namespace: String,
    /// Whether it is an addon: it belongs on every cluster that its placement matches, also on those that join later,
    /// by itself, and waits for what a cluster has not told yet (S4-1).
    #[serde(default, skip_serializing_if = "is_false")]
    pub addon: bool,
    /// Where the manifests come from.
    #[serde(default)]
    pub source: Source,
    /// Where they belong.
    #[serde(default)]
    pub placement: Placement,
    /// What differs per cluster.
    #[serde(default)]
    pub overrides: Vec<Override>,
    /// How a publish spreads over the clusters.
    #[serde(default, skip_serializing_if = "RolloutStrategy::is_default")]
    pub rollout: RolloutStrategy,
    /// How it is kept.
    #[serde(default)]
    pub policies: Policies,
}

/// What the person wants of a workload as a whole; what is going on follows from its releases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Intent {
    /// Never published: only a draft (S0-1).
    #[default]
    Draft,
    /// Published: should run where its placement says.
    Published,
    /// Taken back: should run nowhere; the draft stays.
    Unpublished,
    /// To be forgotten once it runs nowhere.
    Deleting,
}

impl Intent {
    /// The word the database keeps.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Published => "published",
            Self::Unpublished => "unpublished",
            Self::Deleting => "deleting",
        }
    }
}

/// A workload with its draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// Its id.
    pub id: WorkloadId,
    /// The project that owns it.
    pub project: ProjectId,
    /// Its name, unique in the project, immutable.
    pub name: String,
    /// Labels.
    #[serde(default)]
    pub labels: Labels,
    /// The draft: what the next publish would freeze.
    pub draft: WorkloadSpec,
    /// What is wanted of it.
    pub intent: Intent,
    /// Number of the published revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<u32>,
    /// Whether the draft differs from the published revision.
    pub draft_changed: bool,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed by a person.
    pub updated_at: Timestamp,
    /// Grows with every change a person makes; the `ETag`.
    pub revision: i64,
}

/// One publish, frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The workload.
    pub workload: WorkloadId,
    /// 1, 2, 3 …
    pub number: u32,
    /// What was published.
    pub spec: WorkloadSpec,
    /// Who published.
    pub author: String,
    /// Why, in the author's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When.
    pub created_at: Timestamp,
}

/// The phase of a workload, derived from intent and releases (`product.md` F.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Phase {
    /// Never published.
    Draft,
    /// On its way to its clusters.
    Publishing,
    /// Operational everywhere it can be asked about.
    Published,
    /// Operational somewhere, failing somewhere.
    PartiallyPublished,
    /// Being removed.
    Unpublishing,
    /// Runs nowhere.
    Unpublished,
    /// Being removed, then forgotten.
    Deleting,
}

impl Phase {
    /// The words people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Draft => "Draft",
            Self::Publishing => "Publishing",
            Self::Published => "Published",
            Self::PartiallyPublished => "Partially published",
            Self::Unpublishing => "Unpublishing",
            Self::Unpublished => "Unpublished",
            Self::Deleting => "Deleting",
        }
    }

    /// The phase of a workload with this intent and these releases.
    pub fn of(intent: Intent, counts: &Counts) -> Self {
        match intent {
            Intent::Draft => Self::Draft,
            Intent::Unpublished if counts.total() == counts.gone() => Self::Unpublished,
            Intent::Unpublished => Self::Unpublishing,
            Intent::Deleting => Self::Deleting,
            Intent::Published if counts.failing() > 0 => Self::PartiallyPublished,
            Intent::Published if counts.moving() > 0 => Self::Publishing,
            Intent::Published => Self::Published,
        }
    }
}

/// A workload as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSummary {
    /// Its id.
    pub id: WorkloadId,
    /// Its name.
    pub name: String,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// Its phase.
    pub phase: Phase,
    /// Number of the published revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<u32>,
    /// Whether the draft differs from it.
    pub draft_changed: bool,
    /// Its releases by state.
    pub counts: Counts,
    /// Who changed it last.
    pub updated_by: String,
    /// When it was last changed by a person.
    pub updated_at: Timestamp,
}

/// Checks what can be checked of a spec without reading its manifests.
pub fn check(name: &str, spec: &WorkloadSpec) -> Vec<Finding> {
    let mut findings: Vec<Finding> = name::check_workload(name).into_iter().collect();
    findings.extend(name::check_namespace(&spec.namespace));
    findings.extend(crate::placement::check(&spec.placement));
    findings.extend(crate::overrides::check(&spec.overrides));
    findings.extend(crate::rollout::check(&spec.rollout));
    findings.extend(crate::policy::check(&spec.policies));
    findings
}

/// What it takes to make a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewWorkload {
    /// Its name.
    pub name: String,
    /// Labels.
    #[serde(default)]
    pub labels: Labels,
    /// The draft.
    pub spec: WorkloadSpec,
}

/// What a publish did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// Number of the revision that was made.
    pub revision: u32,
    /// Names of the clusters it goes to.
    pub clusters: Vec<String>,
    /// What the guard rails had to say; no errors among them.
    pub findings: Vec<Finding>,
}

/// A workload as its page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadView {
    /// The workload with its draft.
    #[serde(flatten)]
    pub workload: Workload,
    /// Its phase.
    pub phase: Phase,
    /// Its releases by state.
    pub counts: Counts,
    /// The published revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_revision: Option<Revision>,
    /// How it goes through its waves, if it does not go everywhere at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}
