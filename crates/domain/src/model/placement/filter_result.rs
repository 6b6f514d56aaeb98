//! The result of one filter for one cluster: what the placement requires, what was found, and the remedy.
//!
//! All three are data; `Display` gives the words that console, command line and events show.

use serde::{Deserialize, Serialize};

use super::fact::{FactKey, FactSelector};
use super::{MAX_NAMES, NewMembers, PlacementFilter, Remedy, Score, ScoreName, Spread, saturating_u32};
use crate::kubernetes::labels::LabelSelector;
use crate::model::cluster::{Connectivity, Taint};

/// The result of one filter for one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FilterResult {
    /// The filter.
    pub filter: PlacementFilter,
    /// Whether the cluster passed.
    pub passed: bool,
    /// What the placement requires.
    pub expected: FilterRequirement,
    /// What was found.
    pub actual: FilterObservation,
    /// What would have to change for the cluster to pass; absent if it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// The first names of a list, and how many there are besides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NameList {
    /// At most five names.
    pub names: Vec<String>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl NameList {
    /// The first of these names.
    pub fn new(names: &[String]) -> Self {
        let more = saturating_u32(names.len().saturating_sub(MAX_NAMES));
        Self { names: names.iter().take(MAX_NAMES).cloned().collect(), more }
    }

    /// Whether there are no names.
    pub const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// What a placement requires of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum FilterRequirement {
    /// A predicate, and the placement has none.
    AnyPredicate,
    /// All parts of this predicate; without parts it matches every cluster.
    Predicate {
        /// One of these clusters.
        #[serde(default, skip_serializing_if = "NameList::is_empty")]
        names: NameList,
        /// A member of one of these groups.
        #[serde(default, skip_serializing_if = "NameList::is_empty")]
        groups: NameList,
        /// Labels.
        #[serde(default, skip_serializing_if = "LabelSelector::is_empty")]
        labels: LabelSelector,
        /// Facts.
        #[serde(default, skip_serializing_if = "FactSelector::is_empty")]
        facts: FactSelector,
        /// Its position in the placement, from 1.
        position: u32,
        /// Number of predicates.
        of: u32,
    },
    /// Not excluded by name.
    NotExcluded,
    /// No taint that is not tolerated.
    TaintsTolerated,
    /// Not cordoned.
    Schedulable,
    /// Nothing: these scores rank the candidates.
    Scores {
        /// The scores of the placement.
        scores: Vec<Score>,
    },
    /// An even spread.
    Spreads {
        /// The spreads of the placement.
        spreads: Vec<Spread>,
    },
    /// A rank within the number of clusters.
    Number {
        /// The number; absent if all matching clusters are selected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u32>,
    },
    /// Deployed there already, or new members are accepted automatically.
    NewMembers {
        /// The policy.
        policy: NewMembers,
    },
}

/// What a filter found on a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum FilterObservation {
    /// The placement has no predicate.
    NoPredicate,
    /// What the parts of the predicate are about.
    Cluster {
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its membership in the groups.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        membership: Option<GroupMembership>,
        /// Its labels.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<ObservedLabel>,
        /// Its facts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        facts: Vec<ObservedFact>,
    },
    /// Whether it is excluded by name.
    Exclusion {
        /// It is excluded.
        excluded: bool,
    },
    /// Its taints.
    Taints {
        /// Each with the reason why it does or does not reject the cluster.
        taints: Vec<ObservedTaint>,
    },
    /// Whether it is cordoned.
    Scheduling {
        /// It is not cordoned.
        schedulable: bool,
        /// The workload is deployed there.
        deployed: bool,
    },
    /// Its score.
    Score {
        /// The weighted mean of the parts.
        points: i64,
        /// The points of each score.
        parts: Vec<ScorePart>,
    },
    /// Its values of the keys that clusters are spread over.
    Spread {
        /// One per spread.
        values: Vec<SpreadValue>,
    },
    /// A value that has as many selected clusters as the spread allows.
    #[serde(rename_all = "camelCase")]
    SpreadExceeded {
        /// The key of the spread.
        key: String,
        /// The cluster's value.
        value: String,
        /// Number of selected clusters with this value.
        count: u32,
        /// The value with the fewest selected clusters.
        fewest_value: String,
        /// Their number.
        fewest_count: u32,
    },
    /// It matches, and all matching clusters are selected.
    Matches,
    /// Its rank among the matching clusters, and what it depends on besides the score.
    #[serde(rename_all = "camelCase")]
    Rank {
        /// Its rank, from 1.
        position: u32,
        /// Number of matching clusters.
        of: u32,
        /// The workload is deployed there.
        deployed: bool,
        /// Taints for which other clusters are preferred.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_preferred: Vec<Taint>,
        /// Its connectivity.
        connectivity: Connectivity,
    },
    /// Whether it matched at the publish.
    Membership {
        /// The workload is deployed there.
        deployed: bool,
    },
}

impl FilterObservation {
    /// Whether it is only the name of the cluster, which explains nothing beside that name.
    pub const fn is_name_only(&self) -> bool {
        match self {
            Self::Cluster { name, membership, labels, facts } => {
                name.is_some() && membership.is_none() && labels.is_empty() && facts.is_empty()
            }
            _ => false,
        }
    }
}

/// The membership of a cluster in the groups of a predicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum GroupMembership {
    /// A member.
    Member {
        /// Of this group, the first of several.
        group: String,
    },
    /// A member of none.
    NotMember {
        /// Number of groups in the predicate.
        groups: u32,
    },
}

/// A label of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObservedLabel {
    /// Its key.
    pub key: String,
    /// Its value; absent if the cluster does not have the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A fact of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObservedFact {
    /// Which.
    pub fact: FactKey,
    /// Its values; empty if it is unknown.
    pub values: Vec<String>,
}

/// Why a taint does or does not reject a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum TaintOutcome {
    /// It rejects the cluster.
    Rejects,
    /// The placement tolerates it.
    Tolerated,
    /// Other clusters are preferred.
    NotPreferred,
    /// It rejects only new workloads, and this one is deployed there.
    AlreadyDeployed,
}

/// A taint of a cluster and what it causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObservedTaint {
    /// The taint.
    pub taint: Taint,
    /// What it causes.
    pub outcome: TaintOutcome,
}

/// The points of a cluster for one score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ScorePart {
    /// What is scored.
    pub name: ScoreName,
    /// The labels that score; only for `label`.
    #[serde(default, skip_serializing_if = "LabelSelector::is_empty")]
    pub selector: LabelSelector,
    /// 0 to 100.
    pub points: u32,
}

/// The value of a cluster for one spread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SpreadValue {
    /// The key of the spread.
    pub key: String,
    /// The value; absent if the cluster has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}
