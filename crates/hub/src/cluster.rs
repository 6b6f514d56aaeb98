//! Verbs and queries on clusters.

use std::collections::BTreeMap;

use domain::cluster::{ClusterKind, DEFAULT_LEASE_SECONDS, Taint};
use domain::labels::Labels;

mod delete;
mod edit;
mod heartbeat;
mod register;
mod view;

/// A cluster to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCluster {
    /// Its name.
    pub name: String,
    /// How it is served.
    pub kind: ClusterKind,
    /// Initial labels; an already registered cluster keeps its own.
    pub labels: Labels,
    /// The lease: without a heartbeat for longer than this the cluster is late, in seconds.
    pub lease_seconds: u32,
}

impl NewCluster {
    /// A cluster with no labels and the default lease.
    pub fn new(name: &str, kind: ClusterKind) -> Self {
        Self { name: name.to_owned(), kind, labels: Labels::new(), lease_seconds: DEFAULT_LEASE_SECONDS }
    }
}

/// An edit of a cluster; omitted fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterEdit {
    /// Labels to set; `None` as a value removes the label.
    pub labels: BTreeMap<String, Option<String>>,
    /// Replaces all taints.
    pub taints: Option<Vec<Taint>>,
    /// Whether new workloads may be placed on it.
    pub schedulable: Option<bool>,
}
