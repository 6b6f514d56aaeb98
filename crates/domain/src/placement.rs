//! Placement: which clusters a workload belongs on, and for every cluster why (S0-2, E-3).
//!
//! [`decide`] is pure and deterministic. It asks every cluster the same steps in the same order and records what was
//! asked, what was seen and the verdict, so that "why is edge-3 not chosen?" has an answer later too.

use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, TaintEffect};
use crate::id::ClusterId;
use crate::labels::Selector;
use crate::time::Timestamp;

mod check;
mod decide;
mod fact;
#[cfg(test)]
mod laws;
mod members;
mod notice;
mod number;
mod outlook;
mod predicate;
mod remedy;
mod score;
mod spread;
mod taint;
#[cfg(test)]
mod tests;

pub use check::check;
pub use decide::decide;
pub use fact::{Comparison, Fact, FactSelector, FactTerm, Version};
pub use members::hold_new_members;
pub use notice::{Leaving, NOTICE_MILLIS, give_notice};
pub use outlook::outlook;
pub use score::{MAX_WEIGHT, Score, ScoreName};
pub use spread::{Spread, WhenUnsatisfiable};

/// The policy. With no predicate at all it selects nothing: a workload is never placed by accident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// A cluster is a candidate if any of these holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<Predicate>,
    /// Names of clusters that are never chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Taints that do not keep the workload away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// At most this many clusters; `None` for all candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_clusters: Option<u32>,
    /// At least this many: with fewer, a publish is refused (G504). Clusters lost later do not take it from the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_clusters: Option<u32>,
    /// What makes one cluster better than another where not all are taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub score: Vec<Score>,
    /// How evenly the chosen ones lie over regions, zones, providers or values of a label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<Spread>,
    /// Whether clusters that have the workload keep it while they qualify, however others compare.
    #[serde(skip_serializing_if = "is_true")]
    pub sticky: bool,
    /// What becomes of clusters that match only after the publish.
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
            score: Vec::new(),
            spread: Vec::new(),
            sticky: true,
            new_members: NewMembers::default(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_true(yes: &bool) -> bool {
    *yes
}

/// What becomes of clusters that match only after the publish (S1-9).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum NewMembers {
    /// They get the workload with the next publish.
    #[default]
    Manual,
    /// They get it at once.
    Auto,
}

/// One way to be a candidate. All parts given must hold; a predicate with no part selects every cluster.
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
    #[serde(skip_serializing_if = "Selector::is_empty")]
    pub label_selector: Selector,
    /// What the agent found out must match.
    #[serde(skip_serializing_if = "FactSelector::is_empty")]
    pub field_selector: FactSelector,
}

impl Predicate {
    /// Whether it asks for nothing, and so selects every cluster.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// How a toleration compares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TolerationOperator {
    /// Key and value must be equal.
    #[default]
    Equal,
    /// The key is enough; without a key, every taint.
    Exists,
}

/// A taint that does not keep the workload away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// The taint's key; empty with `Exists` tolerates every key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// How it compares.
    pub operator: TolerationOperator,
    /// The taint's value, with `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Only taints with this effect; `None` for every effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
}

/// A named set of clusters, resolved by the hub: its members are given by name.
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
    pub selector: Option<Selector>,
    /// Grows with every change; the `ETag`.
    #[serde(default)]
    pub revision: i64,
}

/// A group, and what it stands for now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    /// The group.
    pub group: ClusterGroup,
    /// Members by name that are no clusters, or not yet.
    pub missing: Vec<String>,
    /// How many clusters its selector matches.
    pub matching: u32,
    /// Workloads whose draft or published revision ask for it.
    pub asked_by: Vec<String>,
}

impl ClusterGroup {
    /// Whether the cluster is a member: by name, or by its labels.
    pub fn contains(&self, cluster: &Cluster) -> bool {
        self.members.contains(&cluster.name)
            || self.selector.as_ref().is_some_and(|selector| selector.matches(&cluster.labels))
    }
}

/// The steps a cluster passes, in this order; the first that refuses ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// Any predicate holds: names, groups, labels, facts.
    Predicate,
    /// Not excluded by name.
    Exclude,
    /// Every taint is tolerated.
    Taint,
    /// Takes new workloads.
    Schedulable,
    /// What the scores gave it; refuses nobody.
    Score,
    /// Evenly spread.
    Spread,
    /// Among the number asked for.
    Number,
    /// Matched already when the workload was published, or new members are taken at once.
    NewMember,
}

/// What one step asked of one cluster, what it saw and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// Which step.
    pub step: Step,
    /// Whether the cluster passed.
    pub passed: bool,
    /// What was asked, such as `env=prod`.
    pub asked: String,
    /// What was seen, such as `env=dev`.
    pub seen: String,
    /// What would have to change for the cluster to pass; empty when it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// The verdict on one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub name: String,
    /// Whether it was chosen.
    pub chosen: bool,
    /// The steps it went through; the last one refused it if it was not chosen.
    pub steps: Vec<StepResult>,
}

impl Verdict {
    /// The step that refused it.
    pub fn refusal(&self) -> Option<&StepResult> {
        self.steps.iter().find(|step| !step.passed)
    }
}

/// What made the placer decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    /// A preview: nobody decided anything.
    #[default]
    Preview,
    /// A publish.
    Published,
    /// Clusters, labels or taints changed.
    FleetChanged,
}

/// The recorded result of a placement: every cluster with its verdict, chosen first, then nearest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Number of the revision decided for; `None` in a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// When; `None` in a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Why.
    #[serde(default)]
    pub trigger: Trigger,
    /// Every cluster.
    pub verdicts: Vec<Verdict>,
    /// Clusters that still have the workload and lose it soon, because they no longer match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaving: Vec<Leaving>,
}

impl Decision {
    /// The chosen clusters.
    pub fn chosen(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| verdict.chosen)
    }

    /// The refused clusters.
    pub fn refused(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| !verdict.chosen)
    }
}
