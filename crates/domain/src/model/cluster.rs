//! Clusters: their reported and confirmed facts, labels, taints and connectivity.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::ClusterId;
use crate::kubernetes::labels::{self, Labels};
use crate::kubernetes::name;
use crate::kubernetes::time::Timestamp;
use crate::text::bounded_json::JsonSize;
use crate::text::finding::Finding;
use crate::text::secret_text::check_hidden_value;

mod confirmed_facts;
pub mod facts;
mod render_facts;
mod summary;
mod taint;

pub use confirmed_facts::{ConfirmableFact, ConfirmedFacts, PendingFact, format_pending_facts};
pub use facts::{Allocatable, HelmReleaseFacts, NamespaceFacts, NodePool, Quota};
pub use render_facts::RenderFacts;
pub use summary::ClusterSummary;
pub use taint::{MAX_TAINTS, Taint, TaintEffect, check_taints};

/// Default lease of a cluster: seconds without a heartbeat after which it is late.
pub const DEFAULT_LEASE_SECONDS: u32 = 60;

const fn default_lease_seconds() -> u32 {
    DEFAULT_LEASE_SECONDS
}

/// How the cluster is served.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ClusterKind {
    /// By an agent inside the cluster, which connects to the hub.
    #[default]
    Agent,
    /// By the agent's code inside the server, with a kubeconfig.
    Kubeconfig,
    /// A simulated cluster of the demo.
    Simulated,
}

impl ClusterKind {
    /// The name that is displayed and stored in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The connectivity axis: whether the hub receives heartbeats from a cluster.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Connectivity {
    /// The last heartbeat is within the lease.
    Online,
    /// No heartbeat for more than one lease, less than three.
    Late,
    /// No heartbeat for three leases or more; sync and health are the last known values.
    #[default]
    Offline,
}

impl Connectivity {
    /// The name that is displayed and stored in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The connectivity of this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|connectivity| connectivity.as_str() == word)
    }

    /// The connectivity for a last heartbeat at `last_seen`: late after one lease, offline after three.
    pub fn from_last_seen(last_seen: Option<Timestamp>, lease_seconds: u32, now: Timestamp) -> Self {
        let lease_millis = i64::from(lease_seconds) * 1_000;
        match last_seen.map(|at| now.millis_since(at)) {
            Some(elapsed) if elapsed <= lease_millis => Self::Online,
            Some(elapsed) if elapsed < 3 * lease_millis => Self::Late,
            _ => Self::Offline,
        }
    }

    /// The connectivity of the releases of a cluster with this one. While its API server does not respond, its agent observes nothing of
    /// them: they are late at least, and no rollout counts them as settled.
    pub fn of_releases(self, has_api_server_outage: bool) -> Self {
        self.max(if has_api_server_outage { Self::Late } else { Self::Online })
    }
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
    /// Whether the agent lacks cluster-wide write permission; [`NamespaceFacts::granted`] lists exceptions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

/// Facts that an agent reports about its cluster, on connect and on change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterFacts {
    /// Version of the API server, such as `v1.33.4`.
    pub kubernetes_version: String,
    /// Number of nodes; `None` when they could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Cloud provider of its nodes, as set by the cloud controller: `aws`, `gce`, `azure` …; empty when unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The most common region label of its nodes; empty when no node has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// The zone labels of its nodes, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Every kind its API serves, sorted.
    #[serde(default)]
    pub apis: Vec<ApiResource>,
    /// Whether the agent's write permissions are known; if not, a kind that is not denied may still be forbidden.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub permissions_known: bool,
    /// Names of its storage classes, sorted.
    #[serde(default)]
    pub storage_classes: Vec<String>,
    /// Its default storage class; empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub default_storage_class: String,
    /// Names of its ingress classes, sorted.
    #[serde(default)]
    pub ingress_classes: Vec<String>,
    /// Its default ingress class; empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub default_ingress_class: String,
    /// Its nodes by architecture and operating system, the largest pool first; empty when they could not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_pools: Vec<NodePool>,
    /// Its namespaces by name, at most [`facts::MAX_NAMESPACES`]; empty when they could not be listed.
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

    /// What its schedulable nodes offer; `None` when its nodes could not be listed.
    pub fn allocatable(&self) -> Option<Allocatable> {
        self.nodes.map(|_| Allocatable::sum(&self.node_pools))
    }

    /// The Kubernetes distribution, from the suffix of its version: `gke`, `eks`, `k3s`, `rke2`, `k0s`; empty without one.
    pub fn distribution(&self) -> &'static str {
        find_distribution(&self.kubernetes_version)
    }

    /// Whether the cluster has reported its facts; before that, nothing can be rendered for it correctly (S4-3).
    pub fn is_reported(&self) -> bool {
        !self.kubernetes_version.is_empty()
    }

    /// Whether both facts render the same bundle: the same kinds with the same scopes, and the same template values.
    /// Changes of nodes and of the agent's permissions do not affect rendering; the location is rendered from confirmed facts.
    pub fn has_same_render_inputs(&self, other: &Self) -> bool {
        RenderFacts::from_reported(self) == RenderFacts::from_reported(other)
    }

    /// The facts of this namespace; `None` when the cluster did not report it.
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

/// Distributions that a version names.
pub(crate) const DISTRIBUTIONS: [&str; 5] = ["gke", "eks", "k3s", "rke2", "k0s"];

/// The distribution in the suffix of a version, such as `v1.33.4+k3s1`; empty without one.
fn find_distribution(kubernetes_version: &str) -> &'static str {
    let suffix = kubernetes_version.split_once(['-', '+']).map_or("", |(_, suffix)| suffix);
    DISTRIBUTIONS.into_iter().find(|name| suffix.starts_with(name)).unwrap_or_default()
}

/// An outage of a cluster's API server, as its agent reports it. The agent and the hub are up, so it is not a matter of
/// connectivity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiServerOutage {
    /// Since when, by the hub's clock.
    pub since: Timestamp,
    /// The error that the agent gets.
    pub message: String,
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
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub labels: Labels,
    /// Annotations, for templates and other tools.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub annotations: Labels,
    /// Values of its own, for templates: `cluster.values.KEY` (S4-7).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub values: Map<String, Value>,
    /// Taints, which repel workloads without a matching toleration.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Whether new workloads may be placed on it.
    pub schedulable: bool,
    /// The people and teams that own it; empty if nobody was named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Its lease: seconds without a heartbeat after which it is late.
    #[serde(default = "default_lease_seconds")]
    pub lease_seconds: u32,
    /// Facts that its agent reported.
    #[serde(default)]
    pub facts: ClusterFacts,
    /// Facts that placement uses, because a user has confirmed them.
    #[serde(default)]
    pub confirmed_facts: ConfirmedFacts,
    /// Its connectivity.
    pub connectivity: Connectivity,
    /// When its last heartbeat arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// Since when and why its API server does not respond to its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server_outage: Option<ApiServerOutage>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Incremented with every change by a user; the `ETag`.
    pub revision: i64,
}

impl Cluster {
    /// A new cluster: no labels, schedulable, without a heartbeat.
    pub fn new(id: ClusterId, name: impl Into<String>, kind: ClusterKind, created_at: Timestamp) -> Self {
        Self {
            id,
            name: name.into(),
            kind,
            labels: Labels::new(),
            annotations: Labels::new(),
            values: Map::new(),
            taints: Vec::new(),
            schedulable: true,
            owners: Vec::new(),
            lease_seconds: DEFAULT_LEASE_SECONDS,
            facts: ClusterFacts::default(),
            confirmed_facts: ConfirmedFacts::default(),
            connectivity: Connectivity::Offline,
            last_seen: None,
            api_server_outage: None,
            created_at,
            revision: 1,
        }
    }

    /// The connectivity of its releases ([`Connectivity::of_releases`]).
    pub fn release_connectivity(&self) -> Connectivity {
        self.connectivity.of_releases(self.api_server_outage.is_some())
    }

    /// The region label, by the well-known key or the short one; empty when there is none.
    pub fn region(&self) -> &str {
        self.labels
            .get("topology.kubernetes.io/region")
            .or_else(|| self.labels.get("region"))
            .map_or("", |r| r)
    }
}

/// Checks annotations that a user enters (G111, G215).
pub fn check_annotations(annotations: &Labels) -> Vec<Finding> {
    let bad_key = annotations.keys().filter(|key| !labels::is_label_key(key)).map(|key| {
        let shown: String = key.chars().take(80).collect();
        let hint = "Use letters, digits, '-', '_' and '.', with a letter or digit at both ends.";
        Finding::error("G215", format!("{shown:?} is not an annotation key."), hint)
    });
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    let too_large = (bytes > MAX_CLUSTER_DATA_BYTES).then(|| too_large("annotations", bytes));
    bad_key.chain(too_large).chain(too_many_labels("annotations", annotations)).collect()
}

/// Checks the values that a user gives a cluster (G111, G124).
pub fn check_values(values: &Map<String, Value>) -> Vec<Finding> {
    let size = JsonSize::of_serialized(values);
    let bytes = usize::try_from(size.bytes).unwrap_or(usize::MAX);
    let too_large = (bytes > MAX_CLUSTER_DATA_BYTES).then(|| too_large("values", bytes));
    let too_many = (size.values > MAX_CLUSTER_VALUES).then(|| {
        let message = format!(
            "The values of the cluster are {} with the maps and lists among them; at most {MAX_CLUSTER_VALUES} are allowed.",
            size.values
        );
        let hint = "Keep only what templates use, and write what belongs together as one text.";
        Finding::error("G111", message, hint)
    });
    let hidden = check_hidden_value("The values", &Value::Object(values.clone()));
    too_large.into_iter().chain(too_many).chain(hidden).collect()
}

/// The largest labels, the largest annotations, and the largest values, of one cluster.
pub const MAX_CLUSTER_DATA_BYTES: usize = 32 * 1024;

/// The most values of one cluster, maps and lists included. Each needs far more memory than its text, whenever clusters are listed.
pub const MAX_CLUSTER_VALUES: u64 = 1_000;

/// The most labels, and the most annotations, of one cluster; the most labels of a workload.
pub const MAX_LABELS: usize = 500;

fn too_many_labels(what: &str, labels: &Labels) -> Option<Finding> {
    (labels.len() > MAX_LABELS).then(|| {
        let message = format!("There are {} {what}; at most {MAX_LABELS} are allowed.", labels.len());
        Finding::error("G111", message, "Keep only those that selectors or templates use.")
    })
}

fn too_large(what: &str, bytes: usize) -> Finding {
    let message =
        format!("The {what} of the cluster have {bytes} bytes; the limit is {MAX_CLUSTER_DATA_BYTES}.");
    Finding::error("G111", message, "Keep only what templates use.")
}

/// Checks labels that a user enters (G111, G215).
pub fn check_labels(labels: &Labels) -> Vec<Finding> {
    let bad_key = labels.keys().filter(|key| !labels::is_label_key(key)).map(|key| (key, "key"));
    let bad_value =
        labels.values().filter(|value| !labels::is_label_value(value)).map(|value| (value, "value"));
    let bytes: usize = labels.iter().map(|(key, value)| key.len() + value.len()).sum();
    let too_large = (bytes > MAX_CLUSTER_DATA_BYTES).then(|| {
        let message = format!("The labels have {bytes} bytes; the limit is {MAX_CLUSTER_DATA_BYTES}.");
        Finding::error("G111", message, "Keep only those that selectors use.")
    });
    bad_key
        .chain(bad_value)
        .map(|(text, what)| {
            let shown: String = text.chars().take(80).collect();
            Finding::error(
                "G215",
                format!(
                    "{shown:?} is not a label {what}: at most {} letters, digits, '-', '_' and '.'.",
                    name::MAX_LABEL_LENGTH
                ),
                "Start and end it with a letter or digit.",
            )
        })
        .chain(too_large)
        .chain(too_many_labels("labels", labels))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_late_after_one_lease_and_offline_after_three() {
        let last_seen = Timestamp::from_millis(1_000_000);
        let at = |millis| {
            Connectivity::from_last_seen(
                Some(last_seen),
                DEFAULT_LEASE_SECONDS,
                last_seen.plus_millis(millis),
            )
        };
        assert_eq!(at(60_000), Connectivity::Online);
        assert_eq!(at(60_001), Connectivity::Late);
        assert_eq!(at(180_000), Connectivity::Offline);
        assert_eq!(
            Connectivity::from_last_seen(None, DEFAULT_LEASE_SECONDS, last_seen),
            Connectivity::Offline
        );
    }

    #[test]
    fn p19_labels_annotations_and_values_of_a_cluster_have_a_limit_on_their_number() {
        let of = |count: usize| -> Labels { (0..count).map(|n| (format!("k{n}"), String::new())).collect() };
        for check in [check_labels, check_annotations] {
            assert_eq!(check(&of(MAX_LABELS)), []);
            let findings = check(&of(MAX_LABELS + 1));
            assert_eq!((findings.len(), findings[0].code.as_str()), (1, "G111"));
            assert!(findings[0].message.contains("501"), "{findings:?}");
        }
        let values = |count: usize| -> Map<String, Value> {
            [("list".to_owned(), Value::Array(vec![Value::Null; count]))].into_iter().collect()
        };
        assert_eq!(check_values(&values(998)), []);
        let findings = check_values(&values(999));
        assert_eq!((findings.len(), findings[0].code.as_str()), (1, "G111"));
        assert!(findings[0].message.contains("are 1001 with"), "{findings:?}");
    }

    #[test]
    fn kinds_that_are_not_reported_yet_are_unknown_and_not_missing() {
        assert_eq!(ClusterFacts::default().serves("apps", "v1", "Deployment"), None);
    }
}
