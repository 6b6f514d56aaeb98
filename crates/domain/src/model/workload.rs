//! Workloads: drafts edited by people, and the immutable revisions created by publishing them.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::{OperationId, ProjectId, WorkloadId};
use crate::kubernetes::labels::Labels;
use crate::kubernetes::time::Timestamp;
use crate::model::dependency::WorkloadDependency;
use crate::model::overrides::Override;
use crate::model::placement::Placement;
use crate::model::remote::OnNewCommit;
use crate::model::rollout::{Rollout, RolloutStrategy};
use crate::model::rollup::ReleaseCounts;
use crate::model::suspension::Suspension;
use crate::text::finding::Finding;
use crate::text::name_check;

mod hidden;
mod order;

pub use order::WorkloadOrder;

pub use crate::model::policy::{ConflictPolicy, DeletionPolicy, DriftPolicy, HelmReleasePolicy, Policies};
pub use crate::model::source::Source;
pub use crate::text::source_file::SourceFile;

/// Share of the selected clusters that may be unavailable by default while others lose the workload, in percent.
const UNAVAILABLE_PERCENT: u32 = 20;

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
    /// Whether it is an addon: it is deployed automatically to every cluster that its placement matches, also to clusters
    /// that join later, and waits for values that a cluster has not reported yet (S4-1).
    #[serde(default, skip_serializing_if = "is_false")]
    pub addon: bool,
    /// The workloads that have to be operational on a cluster before this one is delivered there; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<WorkloadDependency>,
    /// Where the manifests come from.
    #[serde(default)]
    pub source: Source,
    /// The clusters it is deployed to.
    #[serde(default)]
    pub placement: Placement,
    /// What differs per cluster.
    #[serde(default)]
    pub overrides: Vec<Override>,
    /// How a publish is delivered to the clusters.
    #[serde(default, skip_serializing_if = "RolloutStrategy::is_default")]
    pub rollout: RolloutStrategy,
    /// Its policies.
    #[serde(default)]
    pub policies: Policies,
}

impl Workload {
    /// Its fields that need no draft.
    pub fn head(&self) -> WorkloadHead {
        WorkloadHead {
            id: self.id,
            name: self.name.clone(),
            intent: self.intent,
            published: self.published,
            revision: self.revision,
        }
    }
}

impl WorkloadSpec {
    /// How many of the `selected` clusters must run the workload before others lose it (P28): `minAvailableClusters`, by
    /// default all but `maxConcurrency` of the last wave, or all but a fifth.
    pub fn min_available(&self, selected: u32) -> u32 {
        if let Some(minimum) = self.placement.min_available_clusters {
            return minimum.min(selected);
        }
        let concurrency = self.rollout.waves.last().and_then(|wave| wave.max_concurrency.as_ref());
        let unavailable = concurrency
            .and_then(|most| most.round_down(selected))
            .unwrap_or(selected * UNAVAILABLE_PERCENT / 100);
        selected.saturating_sub(unavailable).max(selected.min(1))
    }
}

/// The intent of a person for the whole workload; its progress is derived from its releases.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Intent {
    /// Never published: only a draft (S0-1).
    #[default]
    Draft,
    /// Published: should run on the clusters that its placement selects.
    Published,
    /// Unpublished: should run nowhere; the draft stays.
    Unpublished,
    /// Being deleted: removed from the hub once it runs nowhere.
    Deleting,
}

impl Intent {
    /// Every value.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What to do about a workload whose stored row can't be read.
pub const UNREADABLE_WORKLOAD_HINT: &str = "What runs stays as it is. Replace its draft, unpublish or delete the workload, or restore the database from a backup.";

/// A workload without the parts that a person edits: what its removal and its releases need, also if its draft can't be
/// read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadHead {
    /// Its id.
    pub id: WorkloadId,
    /// Its name.
    pub name: String,
    /// The intent for it.
    pub intent: Intent,
    /// Number of the published revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<u32>,
    /// Increases with every change by a person; the `ETag`.
    pub revision: i64,
}

/// A workload that was unpublished or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RemovedWorkload {
    /// All of it.
    Full(Box<Workload>),
    /// What is readable of it: the rest of its stored row can't be read.
    Head(WorkloadHead),
}

impl RemovedWorkload {
    /// Increases with every change by a person; the `ETag`.
    pub fn revision(&self) -> i64 {
        match self {
            Self::Full(workload) => workload.revision,
            Self::Head(head) => head.revision,
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
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub labels: Labels,
    /// Who is notified of its incidents: names of users or teams, or e-mail addresses. Never empty.
    #[serde(default)]
    pub owners: Vec<String>,
    /// The draft: what the next publish would freeze.
    pub draft: WorkloadSpec,
    /// The intent for it.
    pub intent: Intent,
    /// Number of the published revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<u32>,
    /// Whether the draft differs from the published revision.
    pub draft_changed: bool,
    /// Who created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed by a person.
    pub updated_at: Timestamp,
    /// Increases with every change by a person; the `ETag`.
    pub revision: i64,
}

/// The immutable snapshot of one publish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The workload.
    pub workload: WorkloadId,
    /// 1, 2, 3 …
    pub number: u32,
    /// The published spec.
    pub spec: WorkloadSpec,
    /// Who published it.
    pub author: String,
    /// Why, in the author's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it was published.
    pub created_at: Timestamp,
    /// The versions of Helm that rendered its chart, sorted: several if a cluster joined after an upgrade of Helm, or if an earlier
    /// rendering is used again. Empty for manifests, and if it was published before this was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub helm_versions: Vec<String>,
}

impl Revision {
    /// What rendered its chart, such as `Helm v4.2.4`; `None` for manifests, and if it is not recorded.
    pub fn renderer(&self) -> Option<String> {
        (!self.helm_versions.is_empty()).then(|| format!("Helm {}", self.helm_versions.join(", ")))
    }
}

/// The phase of a workload, derived from its intent and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WorkloadPhase {
    /// Never published.
    Draft,
    /// Being delivered to its clusters.
    Publishing,
    /// Operational on every cluster that is not offline.
    Published,
    /// Failing on at least one cluster.
    PartiallyPublished,
    /// Being removed.
    Unpublishing,
    /// Runs nowhere.
    Unpublished,
    /// Being removed from its clusters, then from the hub.
    Deleting,
    /// Not known: its stored row can't be read.
    Unreadable,
}

impl WorkloadPhase {
    /// The label shown to people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Draft => "Draft",
            Self::Publishing => "Publishing",
            Self::Published => "Published",
            Self::PartiallyPublished => "Published with failures",
            Self::Unpublishing => "Unpublishing",
            Self::Unpublished => "Unpublished",
            Self::Deleting => "Deleting",
            Self::Unreadable => "Unreadable",
        }
    }

    /// The phase of a workload with this intent and these releases.
    pub fn from_releases(intent: Intent, counts: &ReleaseCounts) -> Self {
        match intent {
            Intent::Draft => Self::Draft,
            Intent::Unpublished if counts.total() == counts.gone() => Self::Unpublished,
            Intent::Unpublished => Self::Unpublishing,
            Intent::Deleting => Self::Deleting,
            Intent::Published if counts.failing() > 0 => Self::PartiallyPublished,
            Intent::Published if counts.in_progress() > 0 => Self::Publishing,
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
    pub phase: WorkloadPhase,
    /// Number of the published revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<u32>,
    /// Whether the draft differs from it.
    pub draft_changed: bool,
    /// Its releases by state.
    pub counts: ReleaseCounts,
    /// Who changed it last.
    pub updated_by: String,
    /// When it was last changed by a person.
    pub updated_at: Timestamp,
    /// Why its stored row can't be read, and what to do; `None` if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Who suspended it on all its clusters, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
}

/// The latest edit of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LatestEdit {
    /// Who made it.
    pub updated_by: String,
    /// When it was made.
    pub updated_at: Timestamp,
}

/// The checks of a spec that do not need its manifests.
pub fn check(name: &str, spec: &WorkloadSpec) -> Vec<Finding> {
    let mut findings: Vec<Finding> = name_check::check_workload_name(name).into_iter().collect();
    findings
        .extend(name_check::check_object_namespace(&spec.namespace, spec.policies.allow_system_namespaces));
    findings.extend(spec.source.chart().into_iter().flat_map(|source| source.check(name)));
    findings.extend(spec.source.remote().into_iter().flat_map(|source| source.check(name)));
    findings.extend(crate::model::dependency::check(name, &spec.depends_on));
    findings.extend(check_first_wave(spec));
    findings.extend(crate::model::placement::check(&spec.placement));
    findings.extend(crate::model::overrides::check(&spec.overrides));
    findings.extend(crate::model::rollout::check(&spec.rollout));
    findings.extend(crate::model::policy::check(&spec.policies));
    findings
}

/// G121: new commits shall be published to the first wave, but there is only one.
fn check_first_wave(spec: &WorkloadSpec) -> Option<Finding> {
    let source = spec.source.remote()?;
    (source.on_new_commit == OnNewCommit::FirstWave && spec.rollout.waves.len() < 2).then(|| {
        let message =
            "New commits shall be published to the first wave, but the rollout has fewer than two waves.";
        let hint = "Add waves to the rollout, or choose another policy for new commits.";
        Finding::error("G121", message, hint).with_path("/source/onNewCommit")
    })
}

/// The fields of a workload to create.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewWorkload {
    /// Its name.
    pub name: String,
    /// Labels.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub labels: Labels,
    /// Its owners: names of users or teams, or e-mail addresses; the user who creates it if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// The draft.
    pub spec: WorkloadSpec,
}

/// The result of a publish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PublishResult {
    /// Number of the created revision.
    pub revision: u32,
    /// The operation, which has the outcome on each cluster; `None` from a server of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
    /// Names of its target clusters.
    pub clusters: Vec<String>,
    /// The findings of the guard rails, without errors.
    pub findings: Vec<Finding>,
    /// What the clusters said about it before.
    #[serde(default)]
    pub validation: PublishValidation,
    /// The revision that was published before, if the draft has not changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_since: Option<u32>,
}

/// Whether the clusters had validated a publish by the dry runs of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PublishValidation {
    /// Not known, because the response to the publish was lost.
    #[default]
    Unknown,
    /// There was no valid plan of the same changes, so no cluster has tried them.
    NotPlanned,
    /// There was one.
    #[serde(rename_all = "camelCase")]
    Planned {
        /// Number of clusters that had answered.
        validated: u32,
        /// Whether it found that nothing would change.
        no_op: bool,
        /// The codes of the rejections that were forced.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        forced: Vec<String>,
    },
}

impl PublishValidation {
    /// The codes of the rejections that were forced.
    pub fn forced_codes(&self) -> &[String] {
        match self {
            Self::Planned { forced, .. } => forced,
            Self::Unknown | Self::NotPlanned => &[],
        }
    }
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
    pub phase: WorkloadPhase,
    /// Its releases by state.
    pub counts: ReleaseCounts,
    /// The published revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_revision: Option<Revision>,
    /// Its rollout, if it has waves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// What the hub failed to do for it; retried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<WorkloadFailure>,
    /// Who suspended it on all its clusters, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
}

/// A step of the hub that failed for one workload. Other workloads are not affected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadFailure {
    /// What failed and why, as sentences for people.
    pub message: String,
    /// Failures in a row.
    pub attempts: u32,
    /// When it is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_a_fifth_or_the_concurrency_of_the_rollout_may_be_unavailable() {
        let default = WorkloadSpec::default();
        assert_eq!([0, 1, 4, 10].map(|selected| default.min_available(selected)), [0, 1, 4, 8]);
        let waves = serde_json::json!({"waves": [{"name": "all", "maxConcurrency": "50%"}]});
        let concurrent =
            WorkloadSpec { rollout: serde_json::from_value(waves).unwrap(), ..WorkloadSpec::default() };
        assert_eq!([1, 4].map(|selected| concurrent.min_available(selected)), [1, 2]);
        let mut explicit = WorkloadSpec::default();
        explicit.placement.min_available_clusters = Some(3);
        assert_eq!([2, 5].map(|selected| explicit.min_available(selected)), [2, 3]);
    }
}
