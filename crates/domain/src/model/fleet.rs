//! Overview of the fleet: matrix of workloads and clusters, items that need attention, recent events.

use serde::{Deserialize, Serialize};

use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::Connectivity;
use crate::model::event::Event;
use crate::model::release::ReleaseState;
use crate::model::rollup::ReleaseCounts;

/// How many causes of failing releases are listed as what needs attention, and how many waiting rollouts. With as many, there may be more.
pub const MAX_ATTENTION: u32 = 20;

/// One page of the overview. The server limits rows and columns; the counts cover everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetOverview {
    /// The present state.
    #[serde(flatten)]
    pub status: FleetStatus,
    /// The last events.
    pub recent: Vec<Event>,
}

/// The present state of the fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetStatus {
    /// All releases by state.
    pub counts: ReleaseCounts,
    /// Number of workloads.
    pub workloads_total: u32,
    /// Number of clusters.
    pub clusters_total: u32,
    /// Number of clusters that are not online, or have an API server that does not respond.
    pub clusters_not_online: u32,
    /// Those of them that have not reported for the longest time, with their releases; the server limits their number.
    #[serde(default)]
    pub not_reporting: Vec<NonReportingCluster>,
    /// The columns shown, by region and name.
    pub columns: Vec<FleetColumn>,
    /// The rows shown, worst first.
    pub rows: Vec<FleetRow>,
    /// Number of rollouts that wait for a user's action.
    #[serde(default)]
    pub rollouts_waiting: u32,
    /// What needs attention: waiting rollouts first, then releases, worst and oldest first.
    pub attention: Vec<AttentionItem>,
    /// When this was read.
    pub read_at: Timestamp,
}

/// A cluster that is not online, or has an API server that does not respond, with what is known of its releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NonReportingCluster {
    /// The cluster.
    pub id: ClusterId,
    /// Its name.
    pub name: String,
    /// Its connectivity.
    pub connectivity: Connectivity,
    /// When its last heartbeat arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// Since when its API server does not respond to its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server_down_since: Option<Timestamp>,
    /// Its releases by last known state; a state that the server can't read counts as `Unknown`.
    pub last_known: ReleaseCounts,
}

/// How many clusters there are, and how many of them do not report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterOutages {
    /// Number of clusters.
    pub clusters_total: u32,
    /// Number of those that are not online or have an API server that does not respond.
    pub not_online: u32,
    /// The one with the longest outage.
    pub longest: Option<NonReportingCluster>,
}

/// A cluster as a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetColumn {
    /// The cluster.
    pub id: ClusterId,
    /// Its name.
    pub name: String,
    /// Its region; may be empty.
    pub region: String,
    /// Its connectivity.
    pub connectivity: Connectivity,
    /// When its last heartbeat arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
}

/// A workload as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetRow {
    /// The workload.
    pub id: WorkloadId,
    /// Its name.
    pub name: String,
    /// All its releases by state, not only the columns shown.
    pub counts: ReleaseCounts,
    /// One cell per column; `None` where the workload has no release.
    pub cells: Vec<Option<FleetCell>>,
}

/// One release in the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetCell {
    /// The release.
    pub release: ReleaseId,
    /// Its state; `Unknown` while the cluster is offline.
    pub state: ReleaseState,
    /// Its last known state, displayed while the cluster is offline.
    pub last_known: ReleaseState,
    /// Since when.
    pub since: Timestamp,
    /// Why, in a sentence.
    pub message: String,
}

/// Something that needs attention: one cause on one workload, over all its clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AttentionItem {
    /// The workload.
    pub workload: WorkloadId,
    /// Its name.
    pub workload_name: String,
    /// The worst state among the clusters.
    pub state: ReleaseState,
    /// The cause, in a sentence.
    pub message: String,
    /// Names of some of the clusters.
    pub clusters: Vec<String>,
    /// Number of clusters.
    pub count: u32,
    /// Since when.
    pub since: Timestamp,
}
