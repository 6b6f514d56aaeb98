//! Verbs and queries on clusters.

use domain::cluster::{ClusterKind, DEFAULT_LEASE_SECONDS};
use domain::labels::Labels;

mod confirm_facts;
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
