//! Verbs and queries on clusters.

use std::collections::BTreeMap;

use domain::cluster::{ClusterKind, DEFAULT_LEASE_SECONDS, Taint};
use domain::labels::Labels;

mod delete;
mod edit;
mod heartbeat;
mod register;
mod view;

/// What it takes to register a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCluster {
    /// Its name.
    pub name: String,
    /// How it is served.
    pub kind: ClusterKind,
    /// Labels it begins with; a cluster that is there already keeps its own.
    pub labels: Labels,
    /// How long it may be silent before it counts as late, in seconds.
    pub lease_seconds: u32,
}

impl NewCluster {
    /// A cluster with no labels and the default lease.
    pub fn new(name: &str, kind: ClusterKind) -> Self {
        Self { name: name.to_owned(), kind, labels: Labels::new(), lease_seconds: DEFAULT_LEASE_SECONDS }
    }
}

/// What an edit of a cluster changes; parts left out stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterEdit {
    /// Labels to set; `None` as a value removes the label.
    pub labels: BTreeMap<String, Option<String>>,
    /// All its taints.
    pub taints: Option<Vec<Taint>>,
    /// Whether it takes new workloads.
    pub schedulable: Option<bool>,
}
