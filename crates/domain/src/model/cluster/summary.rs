//! Clusters as lists show them.

use serde::{Deserialize, Serialize};

use super::{Cluster, PendingFact};
use crate::model::join::{ClusterAgent, ClusterCondition};
use crate::model::rollup::ReleaseCounts;
use crate::model::suspension::Suspension;

/// A cluster in the list of clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterSummary {
    /// The cluster; without its list of kinds.
    #[serde(flatten)]
    pub cluster: Cluster,
    /// Its releases by state.
    pub counts: ReleaseCounts,
    /// Its conditions: progress of joining, connectivity, health.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ClusterCondition>,
    /// Reported facts that differ from the confirmed ones, which placement uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_facts: Vec<PendingFact>,
    /// Its agent: how it joined, and its certificate. Not in lists, and omitted if the server itself serves the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ClusterAgent>,
    /// Who suspended it, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
}
