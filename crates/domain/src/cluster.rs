//! Clusters: what is known of them, and whether they can be reached.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::id::ClusterId;
use crate::labels::{self, Labels};
use crate::name;
use crate::time::Timestamp;

pub mod facts;

pub use facts::{NamespaceFacts, NodePool, Quota};

/// How long a cluster may be silent before it counts as late, in seconds, where nothing else is said.
pub const DEFAULT_LEASE_SECONDS: u32 = 60;

const fn default_lease_seconds() -> u32 {
    DEFAULT_LEASE_SECONDS
}

/// How the cluster is served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum ClusterKind {
    /// By an agent that dials the hub from inside the cluster.
    #[default]
    Agent,
    /// By the agent's code inside the server, with a kubeconfig.
    Kubeconfig,
    /// A simulated cluster of the demo.
    Simulated,
}

impl ClusterKind {
    /// The word people read and the database keeps.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Kubeconfig => "kubeconfig",
            Self::Simulated => "simulated",
        }
    }
}

/// Whether the hub hears from a cluster: the third axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Reach {
    /// Heard from within its lease.
    Online,
    /// Silent for more than one lease, less than three.
    Late,
    /// Silent for three leases or more; what is known of it is the last known.
    #[default]
    Offline,
}

impl Reach {
    /// The word people read and the database keeps.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Online => "Online",
            Self::Late => "Late",
            Self::Offline => "Offline",
        }
    }

    /// The reach of a cluster last heard from at `last_seen`: late after one lease, offline after three.
    pub fn of(last_seen: Option<Timestamp>, lease_seconds: u32, now: Timestamp) -> Self {
        let lease_millis = i64::from(lease_seconds) * 1_000;
        match last_seen.map(|seen| now.since(seen)) {
            Some(silent) if silent <= lease_millis => Self::Online,
            Some(silent) if silent < 3 * lease_millis => Self::Late,
            _ => Self::Offline,
        }
    }
}

/// What a taint does to clusters not yet chosen, or already chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TaintEffect {
    /// Not chosen; lost if already chosen.
    NoSelect,
    /// Chosen only when there is no better one.
    PreferNoSelect,
    /// Not chosen anew; kept if already chosen.
    NoSelectIfNew,
}

/// A mark on a cluster that keeps workloads away which do not tolerate it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Label-like key.
    pub key: String,
    /// Value, may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
}

/// One kind a cluster's API serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiResource {
    /// API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Whether the agent may not write all its objects everywhere; what it may in one namespace stands there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

/// What an agent found out about its cluster; reported on connect and on change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterFacts {
    /// Version of the API server, such as `v1.33.4`.
    pub kubernetes_version: String,
    /// Number of nodes; `None` when they could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// What its nodes run on, as their cloud controller says: `aws`, `gce`, `azure` …; empty when it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The region that most of its nodes say; empty when none says one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// The zones that its nodes say, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Every kind its API serves, sorted.
    #[serde(default)]
    pub apis: Vec<ApiResource>,
    /// Whether it is known what the agent may write; if not, nothing follows from a kind that is not denied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rights_known: bool,
    /// Names of its storage classes, sorted.
    #[serde(default)]
    pub storage_classes: Vec<String>,
    /// The one that a claim gets which names none; empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub default_storage_class: String,
    /// Names of its ingress classes, sorted.
    #[serde(default)]
    pub ingress_classes: Vec<String>,
    /// The one that an ingress gets which names none; empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub default_ingress_class: String,
    /// Its nodes by architecture and operating system, the largest pool first; empty when they could not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_pools: Vec<NodePool>,
    /// Its namespaces by name, at most [`facts::NAMESPACES_MAX`]; empty when they could not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<NamespaceFacts>,
}

impl ClusterFacts {
    /// Architectures of its nodes, the most common first.
    pub fn architectures(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for pool in &self.node_pools {
            if !pool.architecture.is_empty() && !all.contains(&pool.architecture) {
                all.push(pool.architecture.clone());
            }
        }
        all
    }

    /// Whether the cluster has told of itself: nothing can be rendered for it as meant before (S4-3).
    pub fn are_known(&self) -> bool {
        !self.kubernetes_version.is_empty()
    }

    /// Whether a bundle may come out differently with these facts than with those: which kinds are namespaced, and what
    /// templates can name. Nodes that come and go, and what the agent may write, change neither.
    pub fn render_alike(&self, other: &Self) -> bool {
        let named = |facts: &Self| {
            let texts = [
                facts.kubernetes_version.clone(),
                facts.provider.clone(),
                facts.region.clone(),
                facts.default_storage_class.clone(),
                facts.default_ingress_class.clone(),
            ];
            (texts, facts.zones.clone(), facts.architectures())
        };
        let kinds = |facts: &Self| -> Vec<ApiResource> {
            facts.apis.iter().map(|api| ApiResource { denied: false, ..api.clone() }).collect()
        };
        named(self) == named(other) && kinds(self) == kinds(other)
    }

    /// What can be known of this namespace; `None` when the cluster did not tell of it.
    pub fn namespace(&self, name: &str) -> Option<&NamespaceFacts> {
        self.namespaces.iter().find(|namespace| namespace.name == name)
    }

    /// Whether the cluster serves this kind; `None` when its kinds are not known yet.
    pub fn serves(&self, group: &str, version: &str, kind: &str) -> Option<bool> {
        if self.apis.is_empty() {
            return None;
        }
        Some(self.apis.iter().any(|api| (&*api.group, &*api.version, &*api.kind) == (group, version, kind)))
    }
}

/// A registered cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Its id; never reused.
    pub id: ClusterId,
    /// Its name, unique and immutable.
    pub name: String,
    /// How it is served.
    pub kind: ClusterKind,
    /// Labels, for selectors.
    #[serde(default)]
    pub labels: Labels,
    /// Taints, against selectors.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Whether new workloads may be placed on it.
    pub schedulable: bool,
    /// How long it may be silent before it counts as late, in seconds.
    #[serde(default = "default_lease_seconds")]
    pub lease_seconds: u32,
    /// What its agent found out.
    #[serde(default)]
    pub facts: ClusterFacts,
    /// Whether the hub hears from it.
    pub reach: Reach,
    /// When it was last heard from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Grows with every change a person makes; the `ETag`.
    pub revision: i64,
}

impl Cluster {
    /// A cluster of which nothing is known yet: no labels, welcome to workloads, not heard from.
    pub fn new(id: ClusterId, name: impl Into<String>, kind: ClusterKind, created_at: Timestamp) -> Self {
        Self {
            id,
            name: name.into(),
            kind,
            labels: Labels::new(),
            taints: Vec::new(),
            schedulable: true,
            lease_seconds: DEFAULT_LEASE_SECONDS,
            facts: ClusterFacts::default(),
            reach: Reach::Offline,
            last_seen: None,
            created_at,
            revision: 1,
        }
    }

    /// The region label, by the well-known key or the short one; empty when there is none.
    pub fn region(&self) -> &str {
        self.labels
            .get("topology.kubernetes.io/region")
            .or_else(|| self.labels.get("region"))
            .map_or("", |r| r)
    }
}

/// Checks labels as a person gives them (G215).
pub fn check_labels(labels: &Labels) -> Vec<Finding> {
    let bad_key = labels.keys().filter(|key| !labels::is_key(key)).map(|key| (key, "key"));
    let bad_value = labels.values().filter(|value| !labels::is_value(value)).map(|value| (value, "value"));
    bad_key
        .chain(bad_value)
        .map(|(text, what)| {
            let shown: String = text.chars().take(80).collect();
            Finding::error(
                "G215",
                format!(
                    "{shown:?} is not a label {what}: at most {} letters, digits, '-', '_' and '.'.",
                    name::LABEL_MAX
                ),
                "Start and end it with a letter or digit.",
            )
        })
        .collect()
}

/// A cluster as the list of clusters shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterSummary {
    /// The cluster; without its list of kinds.
    #[serde(flatten)]
    pub cluster: Cluster,
    /// Its releases by state.
    pub counts: crate::rollup::Counts,
    /// How far it has come in joining, and whether it is heard from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::join::ClusterCondition>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_late_after_one_lease_and_offline_after_three() {
        let seen = Timestamp::from_millis(1_000_000);
        let at = |millis| Reach::of(Some(seen), DEFAULT_LEASE_SECONDS, seen.plus_millis(millis));
        assert_eq!(at(60_000), Reach::Online);
        assert_eq!(at(60_001), Reach::Late);
        assert_eq!(at(180_000), Reach::Offline);
        assert_eq!(Reach::of(None, DEFAULT_LEASE_SECONDS, seen), Reach::Offline);
    }

    #[test]
    fn kinds_that_nobody_reported_yet_are_unknown_and_not_missing() {
        assert_eq!(ClusterFacts::default().serves("apps", "v1", "Deployment"), None);
    }
}
