//! Placement: selects the clusters of a workload and records the reasons for every cluster (S0-2, E-3).
//!
//! [`decide()`] is pure and deterministic. It evaluates the same filters in the same order for every cluster and records
//! the expected value, the actual value and the result, so that "why is edge-3 not selected?" can be answered later.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::ClusterId;
use crate::kubernetes::labels::LabelSelector;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Cluster, TaintEffect};
use crate::text::finding::Finding;

mod candidate;
mod check;
mod check_decision;
mod decide;
mod exclusive;
mod fact;
mod filter_result;
mod filter_text;
mod group_feature;
mod group_members;
mod limits;
mod members_policy;
mod number;
mod predicate;
#[cfg(test)]
mod properties;
mod remedy;
mod removal_notice;
mod removal_order;
mod score;
mod spread;
mod still_selected;
mod taint;
#[cfg(test)]
mod tests;

pub use check::check;
pub use check_decision::check_decision;
pub use decide::decide;
pub use exclusive::{
    GroupConflict, INVALID_GROUP, describe_group_conflicts, find_conflicting_groups, find_group_conflicts,
};
pub use fact::{FACTS_HINT, FactKey, FactSelector, FactTerm, KubernetesVersion, VersionComparison};
pub use filter_result::{
    FilterObservation, FilterRequirement, FilterResult, GroupMembership, NameList, ObservedFact,
    ObservedLabel, ObservedTaint, ScorePart, SpreadValue, TaintOutcome,
};
pub use group_feature::{
    FeatureProperties, FeatureState, FeatureStatus, GroupFeature, GroupFeatureName, check_membership_change,
};
pub use group_members::{
    FleetLabel, GroupCandidate, GroupEffect, GroupMembersChange, GroupMembershipKind, GroupPreview,
    GroupSummary, SUMMARY_CLUSTERS, matches_search,
};
pub use limits::{MAX_ENTRIES, MAX_SELECTOR_BYTES, MAX_VALUES, check_limits};
pub use members_policy::apply_new_members_policy;
pub use remedy::{Remedy, RequiredChange};
pub use removal_notice::{PendingRemoval, REMOVAL_NOTICE_MINUTES, request_removals, update_pending_removals};
pub use removal_order::{LeavingCluster, RemovalLimits, RemovalWait};
pub use still_selected::is_still_selected;

/// Most names in a result; the others are counted. A policy may name a thousand clusters.
const MAX_NAMES: usize = 5;

/// The placement policy. Without predicates it selects no cluster, so that a workload is never placed by accident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// A cluster is a candidate if any of these matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<Predicate>,
    /// Names of clusters that are never selected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Taints that the workload tolerates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// At most this many clusters; `None` for all candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_clusters: Option<u32>,
    /// At least this many: with fewer, a publish is rejected (G504). If clusters are lost later, the workload stays on the
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_clusters: Option<u32>,
    /// While fewer of the selected clusters run the workload, no other loses it (P28). By default all of them, without
    /// `maxConcurrency` of the last wave or a fifth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_available_clusters: Option<u32>,
    /// Scores that rank the candidates where not all are selected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub score: Vec<Score>,
    /// How evenly the selected clusters are spread over regions, zones, providers or values of a label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<Spread>,
    /// Whether clusters that run the workload stay selected while they qualify, whatever the rank of others.
    #[serde(skip_serializing_if = "is_true")]
    pub sticky: bool,
    /// How clusters that match only after the publish are handled.
    pub new_members: NewMembers,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            predicates: Vec::new(),
            exclude: Vec::new(),
            tolerations: Vec::new(),
            number_of_clusters: None,
            min_clusters: None,
            min_available_clusters: None,
            score: Vec::new(),
            spread: Vec::new(),
            sticky: true,
            new_members: NewMembers::default(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(yes: &bool) -> bool {
    *yes
}

fn saturating_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The largest weight; −10 is the smallest.
pub const MAX_WEIGHT: i32 = 10;

/// What is scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ScoreName {
    /// 100 points for a cluster that runs the workload.
    #[default]
    Steady,
    /// Cores allocatable to pods, relative to the candidate with most.
    AllocatableCpu,
    /// Memory allocatable to pods, relative to the candidate with most.
    AllocatableMemory,
    /// 100 points for a cluster whose labels match the selector.
    Label,
}

impl ScoreName {
    /// All scores, in display order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in the policy.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Its name, with the labels that score.
    fn describe(self, selector: &LabelSelector) -> String {
        match self {
            Self::Label => format!("label {selector}"),
            name => name.as_str().to_owned(),
        }
    }
}

/// One score with its weight.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Score {
    /// What is scored.
    pub name: ScoreName,
    /// The labels that score; only for `label`.
    #[serde(skip_serializing_if = "LabelSelector::is_empty")]
    pub selector: LabelSelector,
    /// Weight of the points, −10 to 10; a negative weight subtracts them.
    pub weight: i32,
}

impl Score {
    fn describe(&self) -> String {
        self.name.describe(&self.selector)
    }
}

/// How a cluster is handled whose selection would exceed the skew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WhenUnsatisfiable {
    /// It is rejected.
    #[default]
    DoNotSchedule,
    /// It is selected after those that would not.
    ScheduleAnyway,
}

/// One spread constraint on the selected clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Spread {
    /// `region`, `zone` or `provider`, else the key of a label.
    pub key: String,
    /// How many more clusters one value may have than the value that has fewest; at least 1.
    pub max_skew: u32,
    /// How a cluster is handled that would exceed it.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// At least this many values must occur among the matching clusters (G503).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_groups: Option<u32>,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            key: String::new(),
            max_skew: 1,
            when_unsatisfiable: WhenUnsatisfiable::default(),
            min_groups: None,
        }
    }
}

/// How clusters that match only after the publish are handled (S1-9).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum NewMembers {
    /// They get the workload with the next publish.
    #[default]
    Manual,
    /// They get it immediately.
    Auto,
}

/// An alternative condition for candidates. All its parts must match; without parts it matches every cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Predicate {
    /// One of these clusters, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// A member of one of these groups, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Labels that must match.
    #[serde(skip_serializing_if = "LabelSelector::is_empty")]
    pub label_selector: LabelSelector,
    /// Cluster facts that must match.
    #[serde(skip_serializing_if = "FactSelector::is_empty")]
    pub field_selector: FactSelector,
}

impl Predicate {
    /// Whether it has no parts, and so matches every cluster.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// How a toleration is compared with a taint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TolerationOperator {
    /// Key and value must be equal.
    #[default]
    Equal,
    /// The keys must be equal; without a key, every taint matches.
    Exists,
}

/// Taints that the workload tolerates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// The taint's key; empty with `Exists` tolerates every key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// How key and value are compared.
    pub operator: TolerationOperator,
    /// The taint's value, with `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Only taints with this effect; `None` for every effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
}

/// A named set of clusters: static members by name, dynamic members by labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterGroup {
    /// Its name.
    pub name: String,
    /// Names of its static members.
    #[serde(default)]
    pub members: Vec<String>,
    /// Or a selector for dynamic membership.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Whether its clusters, by name and by selector, may be in no other group (S1-1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// Values that charts have on the clusters of the group, whatever a workload or an override sets, as YAML with its comments
    /// (S2-8).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub locked_values: String,
    /// Its features that differ from the defaults (S1-2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<GroupFeature>,
    /// Grows with every change; the `ETag`.
    #[serde(default)]
    pub revision: i64,
}

/// A group with its current members and users.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    /// The group.
    #[serde(flatten)]
    pub group: ClusterGroup,
    /// Static members that are not registered clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// How many clusters its selector matches.
    #[serde(default)]
    pub matching: u32,
    /// Workloads whose draft or published revision refers to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used_by: Vec<String>,
    /// Its clusters that are in another group although one of both is exclusive (G502).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl ClusterGroup {
    /// Whether the cluster is a member: by name, or by its labels.
    pub fn contains(&self, cluster: &Cluster) -> bool {
        self.members.contains(&cluster.name)
            || self.selector.as_ref().is_some_and(|selector| selector.matches(&cluster.labels))
    }
}

/// The filters of a placement in evaluation order; the first that rejects a cluster ends its evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum PlacementFilter {
    /// Any predicate matches: names, groups, labels, facts.
    Predicate,
    /// Not excluded by name.
    Exclude,
    /// Every taint is tolerated.
    Taint,
    /// Not cordoned.
    Schedulable,
    /// The weighted score; rejects no cluster.
    Score,
    /// Evenly spread.
    Spread,
    /// Within `number_of_clusters`.
    Number,
    /// Matched at the time of the publish, or new members are accepted automatically.
    NewMember,
}

/// The evaluation of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterEvaluation {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub name: String,
    /// Whether it is selected.
    pub selected: bool,
    /// Results of the filters evaluated; the last one rejected the cluster if it is not selected.
    pub filters: Vec<FilterResult>,
}

impl ClusterEvaluation {
    /// The result of the filter that rejected it; `None` if it is selected.
    pub fn failed_filter(&self) -> Option<&FilterResult> {
        self.filters.iter().find(|step| !step.passed)
    }
}

/// The cause of a decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum DecisionTrigger {
    /// A preview: no decision is recorded.
    #[default]
    Preview,
    /// A publish.
    Published,
    /// Clusters, labels or taints changed.
    FleetChanged,
}

/// The recorded result of a placement: an evaluation per cluster, selected ones first, then those that need the fewest
/// changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Number of the revision it is for; `None` in a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Time of the decision; `None` in a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// Its cause.
    #[serde(default)]
    pub trigger: DecisionTrigger,
    /// One evaluation per cluster.
    pub evaluations: Vec<ClusterEvaluation>,
    /// Clusters that run the workload but no longer match, and lose it after the removal notice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_removals: Vec<PendingRemoval>,
}

impl Decision {
    /// The selected clusters.
    pub fn selected(&self) -> impl Iterator<Item = &ClusterEvaluation> {
        self.evaluations.iter().filter(|evaluation| evaluation.selected)
    }

    /// The rejected clusters.
    pub fn rejected(&self) -> impl Iterator<Item = &ClusterEvaluation> {
        self.evaluations.iter().filter(|evaluation| !evaluation.selected)
    }
}
